"""The runs of a file of scores, each with the score of the objective that it minimises.

Runs that weigh clients by p_k = n_k / n minimise the mean loss over samples, and are judged by
sample accuracy. With p_k = 1 / N they minimise the mean over clients: user accuracy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from f3ast_tff.analysis.runs import RunsError, order_of
from f3ast_tff.analysis.tidy_scores import read_scores, runs_where, scores_at, settings_of
from f3ast_tff.core.messages import one_line

SHARE = "client_share"
RATES = ("client_lr", "server_lr")
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
        runs: A row per run: its settings as texts, `""` for one that it lacks; `draw` and `seed`;
            `SCORES` at its last evaluation; `accuracy` and `loss` of its objective, and
            `other_accuracy`. An accuracy is 0 where it, or the loss of its kind, is not finite.
        method: Settings that tell methods apart: all others than the task, the regimes, the
            client share and the rates.
        regimes: Settings whose values are the regimes.
    """

    runs: pd.DataFrame
    method: Sequence[str]
    regimes: Sequence[str]

    def regime_values(self) -> list[tuple[str, ...]]:
        """Returns the values of the regimes' settings, components in the order of their kind."""
        values = self.runs[list(self.regimes)].drop_duplicates().to_numpy().tolist()
        # Regimes that are no components stay in the file's order.
        return sorted(
            (tuple(each) for each in values),
            key=lambda each: list(map(order_of, self.regimes, each)),
        )

    @property
    def held_out(self) -> list[str]:
        """The columns that tell the runs of a method at one pair of rates apart."""
        return [*self.regimes, "draw", "seed"]


def read_study(path: Path, regimes: Sequence[str], where: str | None = None) -> StudyRuns:
    """Reads a file of scores.

    Args:
        path: CSV file of `tidy_scores`.
        regimes: Settings whose values are the regimes.
        where: Conditions on the runs to keep, as of `tidy_scores.runs_where`; `None` for all.

    Raises:
        RunsError: If it cannot be read, has several tasks, lacks a regime's column or that of the
            client share, or has an unknown client share.
    """
    kept = runs_where(read_scores(path), where)
    names = settings_of(kept)
    for name in (SHARE, *regimes):
        if name not in names:
            raise RunsError(f"{path} has no column {name}; its settings are {', '.join(names)}")
    runs = scores_at(kept, "final").drop(columns="at_rounds")
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


def at_tuned_rates(study: StudyRuns, path: Path) -> StudyRuns:
    """Returns the runs of a study at the rates that were chosen for their method and objective.

    Args:
        study: The runs, at several rates; every method and objective has its choice.
        path: CSV file of `tuned_rates`. Settings that are columns of both files tell methods apart.

    Raises:
        RunsError: If the file cannot be read or lacks a column, or a method has no choice or no
            run at the rates chosen.
    """
    try:
        chosen = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise RunsError(f"cannot read {path}: {one_line(error)}") from error
    for name in (SHARE, *RATES):
        for table, file in ((chosen, str(path)), (study.runs, "the file of scores")):
            if name not in table:
                raise RunsError(f"{file} has no column {name}")
    shared = [name for name in (*study.method, SHARE) if name in chosen]
    wanted = chosen[[*shared, *RATES]]
    merged = study.runs.merge(wanted, how="left", on=shared, suffixes=("", "_chosen"))
    at_choice = pd.Series(True, merged.index)
    for rate in RATES:
        at_choice &= pd.to_numeric(merged[rate]) == pd.to_numeric(merged[f"{rate}_chosen"])
    kept = merged.loc[at_choice, study.runs.columns]
    for key, part in merged.groupby([*study.method, SHARE], sort=False):
        if not at_choice[part.index].any():
            what = ", ".join(filter(None, map(str, key)))
            raise RunsError(f"{what}: no run at the rates that {path} has chosen for it")
    return replace(study, runs=kept.reset_index(drop=True))


def _accuracy(runs: pd.DataFrame, kinds: pd.Series[Any]) -> pd.Series[Any]:
    accuracy, loss = (_of_kind(runs, kinds, score) for score in ("accuracy", "loss"))
    return accuracy.where(np.isfinite(accuracy) & np.isfinite(loss), 0.0)


def _of_kind(runs: pd.DataFrame, kinds: pd.Series[Any], score: str) -> pd.Series[Any]:
    """The sample score of runs whose kind is "sample", the user score of others."""
    return runs[f"sample_{score}"].where(kinds == "sample", runs[f"user_{score}"])
