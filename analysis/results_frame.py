"""Runs as one tidy frame that draws itself and says which method is better."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from f3ast_tff.analysis.curves import draw_curves
from f3ast_tff.analysis.differences import Methods, differences, methods_of
from f3ast_tff.analysis.line_styles import Look, styles_of
from f3ast_tff.analysis.run_groups import RunGroup, group_runs, varying
from f3ast_tff.analysis.runs import PERIODS, SCORES, Run, RunsError, load_runs


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
        score: str = SCORES[0],
        period: str | int = PERIODS[0],
    ) -> pd.DataFrame:
        """Returns which method is better: a row per pair, with interval, p value and a sentence.

        Args:
            baseline: Method that all others are compared with; `None` for all pairs.
            score: Score to compare: `sample_accuracy`, `user_accuracy`, `sample_loss`, `user_loss`.
            period: `"final"`, `"mean_of_last_10_percent"`, or a round that was evaluated.

        Raises:
            ParameterError: If no method is called `baseline`.
            RunsError: If a run was not evaluated in the round.
        """
        return differences(self.methods, score=score, period=period, baseline=baseline)

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
            # A method looks as everywhere, further forms of it as methods of their own.
            taken = {name for other, name in keys.items() if other != label}
            keys[label] = label if group.algorithm in taken else group.algorithm
        styles = styles_of(keys.values())
        looks = {group: Look(*styles[keys[label]], label) for group, label in labels.items()}
        to = None if path is None else Path(path)
        return draw_curves(self.methods.groups, self.methods.conditions, to, looks, x=x)


def read_results(folder: str | os.PathLike[str]) -> Results:
    """Returns the finished runs at or below a folder.

    Raises:
        RunsError: If there is no run, or one is damaged.

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
        RunsError: If there are none.
    """
    if not any(runs.values()):
        raise RunsError("no finished run")
    labels: dict[RunGroup, str] = {}
    for label, members in runs.items():
        labels.update(dict.fromkeys(group_runs(members)[0], label))
    found = methods_of(list(labels))
    named = {group: labels[group] or found.labels[group] for group in found.groups}
    methods = replace(found, labels=named)
    shown = varying(methods.groups, methods.conditions)
    parts = []
    for group in methods.groups:
        for pair, run in sorted(group.runs.items()):
            known = {"method": named[group], **group.condition(shown)}
            known.update({"data_seed": pair.draw, "seed": pair.seed})
            metrics = run.metrics.rename(columns=lambda name: name.removeprefix("test_"))
            parts.append(metrics.assign(**known)[[*known, *metrics]])
    frame = Results(pd.concat(parts, ignore_index=True))
    frame.runs, frame.methods = [run for members in runs.values() for run in members], methods
    return frame
