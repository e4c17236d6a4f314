"""The runs of a file of scores, each with the score of the objective that it minimises.

Runs that weigh clients by p_k = n_k / n minimise the mean loss over samples, and are judged by
sample accuracy. With p_k = 1 / N they minimise the mean over clients: user accuracy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from f3ast_tff.analysis.kept_scores import read_scores
from f3ast_tff.analysis.runs import RunsError
from f3ast_tff.components import builtin_registry

SHARE = "client_share"
RATES = ("client_lr", "server_lr")
_COMPONENTS = ("algorithm", "aggregation")
# By client share: the scores of the objective, and the others.
SCORES_OF = {
    "examples": ("sample", "user"),
    "batches": ("sample", "user"),
    "equal": ("user", "sample"),
}


@dataclass(frozen=True, eq=False)
class StudyRuns:
    """Runs of one task under several regimes.

    Attributes:
        runs: A row a run: its settings as texts, `""` for one that it lacks; `draw` and `seed`;
            `SCORES` at its last evaluation; `accuracy` and `loss` of its objective, and
            `other_accuracy`. An accuracy is 0 where it, or the loss of its kind, is not finite.
        method: Settings that tell methods apart: all others than the task, the regimes, the
            client share and the rates.
        regimes: Settings whose values are the regimes.
    """

    runs: pd.DataFrame
    method: Sequence[str]
    regimes: Sequence[str]

    @property
    def held_out(self) -> list[str]:
        """The columns that tell the runs of a method at one pair of rates apart."""
        return [*self.regimes, "draw", "seed"]


def read_study(path: Path, regimes: Sequence[str]) -> StudyRuns:
    """Reads a file of scores.

    Args:
        path: CSV file of `tidy_scores`.
        regimes: Settings whose values are the regimes.

    Raises:
        RunsError: If it cannot be read, has several tasks, lacks a regime's column or that of the
            client share, or has an unknown client share.
    """
    kept = read_scores(path)
    names = list(kept[0].settings)
    for name in (SHARE, *regimes):
        if name not in names:
            raise RunsError(f"{path} has no column {name}; its settings are {', '.join(names)}")
    runs = pd.DataFrame([{**run.settings, **run.pair._asdict(), **run.at("final")} for run in kept])
    tasks = runs["task"].unique()
    if len(tasks) > 1:
        raise RunsError(f"{path} has runs of {', '.join(tasks)}; a study is of one task")
    unknown = sorted({*runs[SHARE]} - {*SCORES_OF})
    if unknown:
        allowed = ", ".join(SCORES_OF)
        raise RunsError(f"{path}: {SHARE} {unknown[0]!r} is unknown; it must be of {allowed}")
    shares = runs[SHARE].map(SCORES_OF)
    for place, column in enumerate(("accuracy", "other_accuracy")):
        runs[column] = _accuracy(runs, shares.str[place])
    runs["loss"] = _of_kind(runs, shares.str[0], "loss")
    world = ("task", SHARE, *regimes, *RATES)
    return StudyRuns(runs, [name for name in names if name not in world], list(regimes))


def method_name(method: Mapping[str, str]) -> str:
    """Returns a method in few words: its name, then settings other than its algorithm's own.

    Args:
        method: Settings by name, `""` for one that it lacks.
    """
    algorithms, aggregations = (builtin_registry().components[k] for k in _COMPONENTS)
    name, aggregation = (method.get(kind, "") for kind in _COMPONENTS)
    algorithm = algorithms.get(name)
    parts = [name if algorithm is None else algorithm.display]
    if aggregation and (algorithm is None or aggregation != algorithm.config.aggregation):
        found = aggregations.get(aggregation)
        parts.append(aggregation if found is None else found.display)
    for setting, value in method.items():
        if setting not in _COMPONENTS and value:
            # Values that are words speak for themselves.
            word = value.replace("_", " ")
            parts.append(word if word[0].isalpha() else f"{setting} {word}")
    return ", ".join(parts)


def _accuracy(runs: pd.DataFrame, kinds: pd.Series[Any]) -> pd.Series[Any]:
    accuracy, loss = (_of_kind(runs, kinds, score) for score in ("accuracy", "loss"))
    return accuracy.where(np.isfinite(accuracy) & np.isfinite(loss), 0.0)


def _of_kind(runs: pd.DataFrame, kinds: pd.Series[Any], score: str) -> pd.Series[Any]:
    """The sample score of runs whose kind is "sample", the user score of others."""
    return runs[f"sample_{score}"].where(kinds == "sample", runs[f"user_{score}"])
