"""A study: the runs of a file of scores, and the names of its methods.

Runs that weigh clients by p_k = n_k / n minimise the mean loss over samples, and are judged by
sample accuracy. With p_k = 1 / N they minimise the mean over clients: user accuracy.

A method is a mapping of settings by name, as texts: its algorithm, and its aggregation and further
settings if runs of the study differ in them; `""` stands for a setting that it lacks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from f3ast_tff.analysis.compare.pairs import Paired
from f3ast_tff.analysis.compare.scored import Pair, RunsError
from f3ast_tff.analysis.method_names import algorithm_label, method_label, order_of
from f3ast_tff.analysis.tidy_scores import (
    DIVERGED,
    final_scores,
    generates_data,
    kept_groups,
    read_scores,
    runs_where,
    settings_of,
)
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.methods.parts.algorithm import AlgorithmConfig
from f3ast_tff.settings import builtin_registry
from f3ast_tff.settings.resolve import resolve

Method = Mapping[str, str]
_T = TypeVar("_T")
_ByRegime = defaultdict[tuple[str, ...], _T]


def method_name(task: str, method: Method) -> str:
    """Returns a method in few words: its name, then settings that differ from task defaults."""
    algorithm, aggregation = components_of(method)
    told = {name: method[name] for name in not_default(task, method)}
    if aggregation != config_of(method).aggregation:
        told = {"aggregation": aggregation, **told}
    return method_label(algorithm_label(method), told)


def config_of(method: Method) -> type[AlgorithmConfig]:
    """Returns the configuration class of a method's algorithm; the base class of an unknown one."""
    found = builtin_registry().components["algorithm"].get(method["algorithm"])
    return AlgorithmConfig if found is None else found.config


def not_default(task: str, method: Method) -> list[str]:
    """Returns the settings, except components, whose values differ from their defaults."""
    defaults = defaults_of(task, *components_of(method))
    return [
        name
        for name, value in method.items()
        if value and name not in ("algorithm", "aggregation") and defaults.get(name) != value
    ]


def components_of(method: Method) -> tuple[str, str]:
    """Returns algorithm and aggregation; a missing aggregation is the algorithm's default."""
    return method["algorithm"], method.get("aggregation") or config_of(method).aggregation


@lru_cache(maxsize=256)
def defaults_of(task: str, algorithm: str, aggregation: str) -> Mapping[str, str]:
    """Returns the settings of a method, as texts; empty for a method of a plug-in."""
    given = {"algorithm": algorithm, "aggregation": aggregation}
    if task in builtin_registry().components["task"]:
        given["task"] = task
    try:
        settings = resolve(given).settings
    except ParameterError:
        # The method of a plug-in that is not given.
        return {}
    return {name: "" if value is None else str(value) for name, value in settings.items()}


SHARE = "client_share"
RATES = ("client_lr", "server_lr")
# Kinds of scores by client share: for the objective, and the other kind.
SCORES_OF = {
    "examples": ("sample", "user"),
    "batches": ("sample", "user"),
    "equal": ("user", "sample"),
}


@dataclass(frozen=True, eq=False)
class StudyRuns:
    """Runs of one task under several regimes.

    Attributes:
        runs: A row per run: its settings as texts, `""` for one that it lacks; `draw` and `seed`;
            its scores at its last evaluation, in `last_round`; `score` and `loss` of its
            objective, and the score of the other one, such as `other_accuracy`. A run that
            diverged has the worst scores, see `compare.pairs`; `diverged` says so of `score`.
        method: Settings that tell methods apart: all others than the task, the regimes, the
            client share and the rates.
        regimes: Settings whose values are the regimes.
        score: The score that judges, `accuracy` or another of the file's.
        higher_is_better: Its direction.
    """

    runs: pd.DataFrame
    method: Sequence[str]
    regimes: Sequence[str]
    score: str = "accuracy"
    higher_is_better: bool = True

    def regime_values(self) -> list[tuple[str, ...]]:
        """Returns the values of the regimes' settings, components in the order of their kind."""
        values = self.runs[list(self.regimes)].drop_duplicates().to_numpy().tolist()
        # Regimes that are no components stay in the file's order.
        return sorted(
            (tuple(each) for each in values),
            key=lambda each: list(map(order_of, self.regimes, each)),
        )

    def by_regime(self, a: pd.DataFrame, b: pd.DataFrame) -> list[Paired]:
        """Pairs the runs of two methods, rows of `runs`, in each of `regime_values`."""
        generated = generates_data(str(self.runs["task"].iloc[0]))
        (scores_a, lost_a), (scores_b, lost_b) = map(self._by_run, (a, b))
        return [
            Paired(
                a=scores_a[regime],
                b=scores_b[regime],
                higher_is_better=self.higher_is_better,
                generates_data=generated,
                diverged_a=frozenset(lost_a[regime]),
                diverged_b=frozenset(lost_b[regime]),
            )
            for regime in self.regime_values()
        ]

    def _by_run(
        self, runs: pd.DataFrame
    ) -> tuple[_ByRegime[dict[Pair, float]], _ByRegime[set[Pair]]]:
        """Scores by run, and the runs that diverged, in each regime."""
        scores: _ByRegime[dict[Pair, float]] = defaultdict(dict)
        lost: _ByRegime[set[Pair]] = defaultdict(set)
        columns = (runs[name] for name in (*self.regimes, "draw", "seed", self.score, DIVERGED))
        for *regime, draw, seed, score, diverged in zip(*columns):
            run = Pair(draw, seed)
            scores[tuple(regime)][run] = float(score)
            if diverged:
                lost[tuple(regime)].add(run)
        return scores, lost

    @property
    def round_number(self) -> int | None:
        """The round of the scores; `None` if it differs between runs."""
        rounds = self.runs["last_round"].unique().tolist()
        return int(rounds[0]) if len(rounds) == 1 else None

    @property
    def said_at(self) -> str:
        """The round of the scores, such as ` at round 200`; `""` if it differs between runs."""
        return "" if self.round_number is None else f" at round {self.round_number}"

    @property
    def held_out(self) -> list[str]:
        """The columns that identify a run of a method at one pair of rates."""
        return [*self.regimes, "draw", "seed"]


def read_study(path: Path, regimes: Sequence[str]) -> StudyRuns:
    """Reads a file of scores of one task; see `read_studies` for the arguments.

    Raises:
        RunsError: See `read_studies`; also if the file has several tasks.
    """
    studies = read_studies(path, regimes)
    if len(studies) > 1:
        raise RunsError(f"{path} has runs of {', '.join(studies)}; a study is of one task")
    (study,) = studies.values()
    return study


def read_studies(
    path: Path,
    regimes: Sequence[str],
    where: str | None = None,
    *,
    score: str = "accuracy",
    round_number: int | None = None,
) -> dict[str, StudyRuns]:
    """Reads a file of scores, a study per task.

    Args:
        path: CSV file of `tidy_scores`.
        regimes: Settings whose values are the regimes.
        where: Conditions on the runs to keep, as of `tidy_scores.runs_where`; `None` for all.
        score: The score that judges.
        round_number: Round of the scores, of the runs that have it; `None` for each run's last.

    Returns:
        The studies by task, in the file's order.

    Raises:
        RunsError: If it cannot be read, lacks a regime's column, that of the client share or the
            score, or has an unknown client share.
    """
    kept = runs_where(read_scores(path), where)
    names = settings_of(kept)
    for name in (SHARE, *regimes):
        if name not in names:
            raise RunsError(f"{path} has no column {name}; its settings are {', '.join(names)}")
    num_tasks = kept["task"].nunique()
    if round_number is not None:
        kept = kept[kept["round"] == round_number]
    groups = kept_groups(kept)
    directions = groups[0].directions
    if score not in directions:
        raise RunsError(f"{path}: no score {score!r}; it must be one of {', '.join(directions)}")
    runs = final_scores(groups)
    unknown = sorted({*runs[SHARE]} - {*SCORES_OF})
    if unknown:
        allowed = ", ".join(SCORES_OF)
        raise RunsError(f"{path}: {SHARE} {unknown[0]!r} is unknown; it must be of {allowed}")
    shares = runs[SHARE].map(SCORES_OF)
    for place, column in enumerate((score, f"other_{score}")):
        runs[column] = _of_kind(runs, shares.str[place], score)
    runs[DIVERGED] = _of_kind(runs, shares.str[0], score, f"{DIVERGED}_").astype(bool)
    if "loss" in directions:
        runs["loss"] = _of_kind(runs, shares.str[0], "loss")
    world = ("task", SHARE, *regimes, *RATES)
    method = [name for name in names if name not in world]
    found = {}
    for task, part in runs.groupby("task", sort=False):
        # Settings that differ only between tasks, such as the rounds, do not identify methods.
        own = method if num_tasks == 1 else _varying(part, method)
        found[str(task)] = StudyRuns(
            part.reset_index(drop=True), own, list(regimes), score, directions[score]
        )
    return found


def _varying(runs: pd.DataFrame, names: Sequence[str]) -> list[str]:
    components = ("algorithm", "aggregation")
    return [name for name in names if name in components or runs[name].nunique() > 1]


def _of_kind(
    runs: pd.DataFrame, kinds: pd.Series[Any], score: str, before: str = ""
) -> pd.Series[Any]:
    """The sample score of runs whose kind is "sample", the user score of others."""
    of_samples, of_users = (runs[f"{before}{kind}_{score}"] for kind in ("sample", "user"))
    return of_samples.where(kinds == "sample", of_users)
