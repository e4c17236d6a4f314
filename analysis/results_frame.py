"""Runs as frames: final scores, and a frame with methods that draw and compare methods."""

from __future__ import annotations

import logging
import math
import os
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from f3ast_tff.analysis.compare.equal_seconds import AtSeconds
from f3ast_tff.analysis.compare.methods import (
    Methods,
    differences,
    heading,
    methods_of,
    with_what_is_theirs,
)
from f3ast_tff.analysis.compare.scored import RunsError, Score, varying
from f3ast_tff.analysis.compare.times import PERIODS, Time
from f3ast_tff.analysis.curves import draw_curves
from f3ast_tff.analysis.line_styles import Look, styles_of
from f3ast_tff.analysis.run_groups import RunGroup, describe, group_runs, partition, score
from f3ast_tff.analysis.runs import SCORES, Run, load_runs
from f3ast_tff.analysis.score_directions import check_score, score_of_objective, shared_scores
from f3ast_tff.analysis.texts import spread_text, users_scored
from f3ast_tff.analysis.tidy_scores import labelled
from f3ast_tff.core.errors import ParameterError

_LOG = logging.getLogger(__name__)
_HEADINGS = {"final": "final round", "mean_of_last_10_percent": "mean of last 10%"}
_WIDTH = 100
# A score that the runs of a group do not have.
_NONE = Score(math.nan, math.nan, 0, 0)


def final_table(
    groups: Sequence[RunGroup], names: Sequence[str], labels: Mapping[RunGroup, str] | None = None
) -> pd.DataFrame:
    """Returns the scores at the end of training.

    Args:
        groups: Finished runs, of `arranged`.
        names: The settings of their conditions.
        labels: Names of rows in tables, instead of the algorithms' names.

    Returns:
        A row per condition and algorithm, with columns `algorithm`; `display`, its name in tables;
        the condition's settings; `runs` and `draws`, the number of runs and of draws of the data;
        and for each period and score the mean, `<period>_<score>`, and the standard deviation
        (n - 1 degrees of freedom), `<period>_<score>_sd`, NaN for one run: over draws, of each
        draw's mean over its seeds; over seeds with one draw. A score that is not finite in one run
        makes both NaN.
    """
    scores = shared_scores(groups)
    table = pd.DataFrame([_row(group, names, scores) for group in groups])
    if labels is not None:
        table["display"] = [labels[group] for group in groups]
    for name in names:
        # Objects, because otherwise 5 and None of a setting would become 5.0 and NaN.
        table[name] = pd.Series([group.condition([name])[name] for group in groups], dtype=object)
    return table


def render(
    table: pd.DataFrame, named: Collection[str] = (), final: str = _HEADINGS["final"]
) -> str:
    """Returns a `final_table` as text, a block per condition, by default at most 100 columns wide.

    The settings in `named` are not conditions, because the labels of the rows name them. `final`
    is the heading of the last evaluations.
    """
    headings = {**_HEADINGS, "final": final}
    columns = [str(column) for column in table.columns]
    names = [name for name in columns[2 : columns.index("runs")] if name not in named]
    blocks = []
    for _, part in table.groupby(names, sort=False, dropna=False):
        condition = {name: part[name].iloc[0] for name in names}
        blocks.append(textwrap.fill(describe(condition, names), _WIDTH))
        blocks += [_block(part, period, headings) for period in PERIODS]
    parts = []
    if (table["draws"] > 1).any():
        parts.append("over draws of the data (each draw's mean over its seeds)")
    if ((table["draws"] == 1) & (table["runs"] > 1)).any():
        one = " where there is one draw" if parts else ", all on one draw of the data"
        parts.append(f"over seeds{one}")
    if parts:
        blocks.append(f"mean ± standard deviation {', '.join(parts)}")
    return "\n\n".join(blocks)


def _row(group: RunGroup, names: Sequence[str], scores: Sequence[str]) -> dict[str, object]:
    row: dict[str, object] = {"algorithm": group.algorithm, "display": group.display}
    row.update(group.condition(names))
    row["runs"], row["draws"] = len(group.runs), len(group.draws)
    for period in PERIODS:
        for metric in scores:
            found = score(group, metric, period) if metric in group.score_names else _NONE
            row[f"{period}_{metric}"] = found.mean
            row[f"{period}_{metric}_sd"] = found.deviation
    return row


def _block(part: pd.DataFrame, period: str, headings: Mapping[str, str]) -> str:
    columns = {"runs": [str(number) for number in part["runs"]]}
    if (part["draws"] > 1).any():
        columns["draws"] = [str(number) for number in part["draws"]]
    prefix = f"{period}_"
    names = [str(c) for c in part if str(c).startswith(prefix) and f"{c}_sd" in part]
    for column in names:
        metric = column.removeprefix(prefix)
        # Runs of other models may have other scores.
        if len(names) > len(SCORES) and part[column].isna().all():
            continue
        pairs = zip(part[column], part[f"{column}_sd"])
        columns[metric.replace("_", " ")] = [spread_text(Score(*pair, 0, 0)) for pair in pairs]
    # One width for all blocks, so that they line up.
    width = max(map(len, headings.values()))
    labels = [name.ljust(width) for name in part["display"]]
    header = pd.Index(columns, name=headings[period])
    return pd.DataFrame(columns, index=labels).set_axis(header, axis="columns").to_string()


class Results(pd.DataFrame):
    """Scores of runs, a row per run and evaluation.

    Columns: `method`, the settings that differ between conditions, `data_seed`, `seed`, `round`,
    and the columns of `metrics.csv`, without the prefix `test_`. A selection of rows is a plain
    frame.

    Examples:
        >>> from f3ast_tff import simulate
        >>> found = simulate(algorithm="f3ast", seeds=[0, 1], rounds=4, eval_every=2)
        >>> found[["seed", "round"]].values.tolist()
        [[0, 2], [0, 4], [1, 2], [1, 4]]
    """

    _metadata = ["runs", "methods"]
    runs: list[Run]
    methods: Methods

    @property
    def _constructor(self) -> Callable[..., pd.DataFrame]:
        return pd.DataFrame

    def differences(
        self,
        baseline: str | None = None,
        score: str | None = None,
        period: str | int = PERIODS[0],
        may_differ: Sequence[str] = (),
        at: AtSeconds | None = None,
    ) -> pd.DataFrame:
        """Returns which method is better: a row per pair, with interval, p value and a sentence.

        Args:
            baseline: Method that all others are compared with; `None` for all pairs.
            score: Score to compare: `sample_accuracy`, `user_accuracy`, `sample_loss`, `user_loss`,
                or a score of the model, such as `sample_mae`. `None` for `user_accuracy` if all
                runs have p_k = 1 / N, else `sample_accuracy`; the loss if labels are values.
            period: `"final"`, `"mean_of_last_10_percent"`, or a round that was evaluated.
            may_differ: Settings in which methods may differ, besides what is theirs: their own
                settings, optimizers, penalty and local work.
            at: Simulated time at which they are compared in place of `period`.

        Raises:
            ParameterError: If no method is called `baseline`, or there is no such score or period.
            RunsError: If a run was not evaluated in the round, or several methods are there, but no
                two under equal settings.
        """
        score = score or score_of_objective(self.methods.groups)
        check_score(self.methods.groups, score)
        if not isinstance(period, int) and period not in PERIODS:
            raise ParameterError("period", period, f"must be a round, {' or '.join(PERIODS)}")
        groups = self.methods.groups
        time = Time(round=period) if isinstance(period, int) else Time(period)
        if score.startswith("user_") and (left_out := users_scored(groups, if_not_all=True)):
            _LOG.warning(left_out)
        if at is not None:
            may_differ, time = [*may_differ, *at.theirs(groups)], at.time(groups)
        methods = self._of(groups, may_differ) if may_differ else self.methods
        table = differences(methods, score=score, time=time, baseline=baseline)
        if table.empty and len(set(methods.labels.values())) > 1:
            raise RunsError(heading(methods, table, score, time, baseline))
        return table

    def _of(self, own: Sequence[RunGroup], names: Sequence[str]) -> Methods:
        """The same methods, of these runs, under conditions without settings of these names."""
        groups = with_what_is_theirs(own, names)
        told = dict(zip(groups, map(self.methods.labels.__getitem__, self.methods.groups)))
        found = methods_of(groups)
        return replace(found, labels={group: told[group] for group in found.groups})

    def plot(  # type: ignore[override]
        self, path: str | os.PathLike[str] | None = None, x: str = "rounds"
    ) -> Figure:
        """Draws both accuracies: means over draws, bands of one standard deviation.

        Args:
            path: File to write; `None` for none.
            x: `"rounds"`, `"simulated_seconds"` or `"bytes"`.

        Raises:
            RunsError: If a run has no clock, or there are too many conditions.
        """
        labels = self.methods.labels
        keys: dict[str, str] = {}
        for group, label in labels.items():
            # A method has its usual look; further forms of it look like other methods.
            taken = {name for other, name in keys.items() if other != label}
            keys[label] = label if group.algorithm in taken else group.algorithm
        styles = styles_of(keys.values())
        looks = {group: Look(*styles[keys[label]], label) for group, label in labels.items()}
        to = None if path is None else Path(path)
        return draw_curves(
            self.methods.groups, names=self.methods.conditions, path=to, looks=looks, x=x
        )


def read_results(folder: str | os.PathLike[str]) -> Results:
    """Returns the finished runs at or below a folder.

    Raises:
        RunsError: If there is no run, or a run is damaged or there twice.

    Examples:
        >>> import tempfile
        >>> from f3ast_tff import simulate
        >>> from f3ast_tff.analysis.results_frame import read_results
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     runs = simulate(algorithm="fedavg", rounds=2, seeds=[0, 1], folder=folder)
        ...     found = read_results(folder)
        >>> found[["method", "seed", "round"]].values.tolist()
        [['FedAvg', 0, 2], ['FedAvg', 1, 2]]
    """
    return results_of({"": [run for run in load_runs(Path(folder)) if run.summary is not None]})


def results_of(runs: Mapping[str, Sequence[Run]]) -> Results:
    """Returns runs as a frame.

    Args:
        runs: Finished runs by the name of their method; `""` for names that follow from settings.

    Raises:
        RunsError: If there are no runs, or a run is there twice.
        ParameterError: If a name stands for several methods under equal settings.
    """
    if not any(runs.values()):
        raise RunsError("no finished run")
    every = [run for members in runs.values() for run in members]
    labels: dict[RunGroup, str] = {}
    for label, members in runs.items():
        groups, repeated = group_runs(members, among=every)
        if repeated:
            raise RunsError(repeated[0])
        labels.update(dict.fromkeys(groups, label))
    labels = dict(zip(with_what_is_theirs(list(labels)), labels.values()))
    found = methods_of(list(labels))
    named = {group: labels[group] or found.labels[group] for group in found.groups}
    for cell in partition(found.groups, found.conditions):
        for name in {named[group] for group in cell}:
            several = [found.labels[group] for group in cell if named[group] == name]
            if len(several) > 1:
                allowed = f"must be the name of one method, not of {', '.join(several)}"
                raise ParameterError("methods", name, allowed)
    methods = replace(found, labels=named)
    shown = varying(methods.groups, methods.conditions)
    parts = []
    for group in methods.groups:
        part = labelled([group], shown, lambda run: run.metrics)
        part.insert(0, "method", named[group])
        parts.append(part.rename(columns=lambda name: name.removeprefix("test_")))
    frame = Results(pd.concat(parts, ignore_index=True).infer_objects())
    frame.runs, frame.methods = every, methods
    return frame
