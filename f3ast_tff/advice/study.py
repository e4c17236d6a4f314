"""The kept study of methods: the best method, and its regret under other availability."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pandas as pd

from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.study_runs import RATES, SHARE, method_name, read_study
from f3ast_tff.campaigns.study_folders import declared


def kept_scores() -> Path:
    """Returns the scores of the study that declares `[advice]`.

    Raises:
        RunsError: If there is none.
    """
    for folder, _ in declared("advice"):
        return folder / "scores.csv"
    raise RunsError("no study declares [advice] in its study.toml: there is nothing to advise from")


@dataclass(frozen=True, eq=False)
class Study:
    """Mean accuracies of methods under kinds of availability, in one objective.

    Attributes:
        scores: Mean over draws of each draw's mean accuracy, with a row per method (by name) and a
            column per availability; NaN where a method was not run.
        settings: Algorithm, aggregation and tuned learning rates, with a row per method.
    """

    scores: pd.DataFrame
    settings: pd.DataFrame

    @property
    def best(self) -> str:
        """Name of the method of highest mean score, of those that ran everywhere."""
        return str(self.scores.mean(axis="columns", skipna=False).idxmax())

    def regrets(self, followed: str | None = None) -> pd.Series[float]:
        """Returns the regret under each availability: the best score minus the chosen method's.

        Args:
            followed: Name of the chosen method; `None` to choose by the advice, the method of
                highest mean score under all other kinds of availability.
        """
        found = {}
        for name in map(str, self.scores.columns):
            others = self.scores.drop(columns=name).mean(axis="columns", skipna=False)
            method = str(others.idxmax()) if followed is None else followed
            scores = self.scores[name]
            found[name] = float(scores.max() - scores[method])
        return pd.Series(found)


@lru_cache(maxsize=2)
def read_studies(path: Path | None = None) -> dict[str, Study]:
    """Returns the study in each objective, by client share.

    Args:
        path: CSV file of `tidy_scores`, with a single task; by default `kept_scores`.

    Raises:
        RunsError: If it cannot be read, lacks a column, or no method ran under every availability.
    """
    path = kept_scores() if path is None else path
    study = read_study(path, ["availability"])
    for name in ("aggregation", *RATES):
        if name not in study.runs:
            raise RunsError(f"{path} has no column {name}")
    task = str(study.runs["task"].iloc[0])
    keys = [tuple(map(str, key)) for key in study.runs[list(study.method)].to_numpy()]
    names = {key: method_name(task, dict(zip(study.method, key))) for key in set(keys)}
    runs = study.runs.assign(method=[names[key] for key in keys])
    found = {}
    for share, part in runs.groupby(SHARE):
        by_draw = part.groupby(["method", "availability", "draw"])["accuracy"].mean()
        scores = by_draw.groupby(["method", "availability"]).mean().unstack()
        if scores.isna().any(axis="columns").all():
            raise RunsError(f"{path}: with {SHARE}={share} no method ran under every availability")
        settings = part.drop_duplicates("method").set_index("method")
        found[str(share)] = Study(scores, settings[["algorithm", "aggregation", *RATES]])
    return found
