"""The differences of each method of a study to its baselines, regime by regime, and their means.

The baselines of a method are the method that it corrects and FedAvg, both in the same objective.
Holm's correction is over a family: all regimes of one method in one objective.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from f3ast_tff.analysis.compare import render
from f3ast_tff.analysis.compare.judge import BETTER, WORSE, Claim, judge
from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.studies.baselines import FEDAVG, corrected_by, find_method
from f3ast_tff.analysis.study_runs import RATES, SHARE, Method, StudyRuns, config_of, method_name
from f3ast_tff.analysis.tidy_scores import label, read_cells
from f3ast_tff.settings import builtin_registry

# Name of the objective of each method's paper, besides the client shares.
OWN = "own"
_COUNTS = (BETTER, WORSE, "lost", "runs")


def at_tuned_rates(study: StudyRuns, path: Path) -> StudyRuns:
    """Returns the runs of a study at the rates that were chosen for their method and objective.

    Args:
        study: The runs, at several rates; every method and objective has its choice.
        path: CSV file of `tuned_rates`. Settings that are columns of both files identify methods.

    Raises:
        RunsError: If the file cannot be read or lacks a column, or a method has no choice or no
            run at the chosen rates.
    """
    chosen = read_cells(path)
    for name in (SHARE, *RATES):
        for table, file in ((chosen, str(path)), (study.runs, "the file of scores")):
            if name not in table:
                raise RunsError(f"{file} has no column {name}")
    shared = [name for name in ("task", *study.method, SHARE) if name in chosen]
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


def regime_differences(study: StudyRuns) -> pd.DataFrame:
    """Compares each method with its baselines in each regime.

    The study must have runs of one pair of rates for each method and objective.

    Returns:
        A row per method, objective and regime: `method`, its name; `client_share`; `own`, whether
        the objective is its paper's; `corrects`, the name of the method that it corrects, `""` if
        that is the method itself or not in the study; the rates, if the file has them; `regime` in
        words; `score`, mean over draws of each draw's mean accuracy for the objective;
        `other_score`, that of the other kind; `runs`; `lost`, number of runs whose loss is not
        finite or at least the loss of a uniform guess; `difference` to the method that it corrects,
        with `low` and `high`, the ends of the corrected interval, and `verdict`; `to_fedavg`, the
        difference to FedAvg. A difference is NaN without another method as baseline or with fewer
        than 2 common pairs of draw and seed.

    Raises:
        RunsError: If a method has several rates in one objective, or two possible baselines.
    """
    task = str(study.runs["task"].iloc[0])
    found = []
    for share, runs in study.runs.groupby(SHARE, sort=False):
        of_method = dict(iter(runs.groupby(list(study.method), sort=False)))
        methods: list[Method] = [dict(zip(study.method, map(str, key))) for key in of_method]
        means = _means(study, runs, guess_loss(task))
        for (key, own), method in zip(of_method.items(), methods):
            name = method_name(task, method)
            rates = own[[rate for rate in RATES if rate in own]]
            if (rates.nunique() > 1).any():
                raise RunsError(f"{name} has runs of several rates; give --rates or --where")
            wanted = (corrected_by(method), FEDAVG)
            found_for = [
                find_method(task, wanted=each, methods=methods, beside=method) for each in wanted
            ]
            base, fedavg = (None if each == method else each for each in found_for)
            of_base, of_fedavg = (
                runs.iloc[:0] if each is None else of_method[tuple(each.values())]
                for each in (base, fedavg)
            )
            labels = {
                "method": name,
                SHARE: share,
                OWN: config_of(method).client_share == share,
                "corrects": method_name(task, base) if base else "",
                **rates.iloc[0],
            }
            rows = means[key].assign(**labels)
            to_base = judge([Claim(each) for each in study.by_regime(own, of_base)])
            for column in ("difference", "low", "high", "verdict"):
                rows[column] = [render.row(verdict)[column] for verdict in to_base]
            to_fedavg = study.by_regime(own, of_fedavg)
            rows["to_fedavg"] = [each.mean if each.found else math.nan for each in to_fedavg]
            found.append(rows)
    return pd.concat(found, ignore_index=True)


def method_means(differences: pd.DataFrame) -> pd.DataFrame:
    """Returns the means over regimes of each method in each objective, by falling score.

    There is a row per method and objective, with the columns of `regime_differences`: means of
    scores and differences, sums of `runs` and `lost`. `better` and `worse` replace the interval:
    the numbers of regimes with that verdict, corrected. A method that lacks a
    regime has no mean score and comes last; differences are over the regimes that have one.
    """
    verdicts = differences["verdict"]
    table = differences.assign(better=verdicts == BETTER, worse=verdicts == WORSE)
    labels = ["method", SHARE, OWN, "corrects", *(rate for rate in RATES if rate in table)]
    how: dict[str, Any] = {
        **dict.fromkeys(("score", "other_score"), mean_of_all),
        **dict.fromkeys(("difference", "to_fedavg"), "mean"),
        **dict.fromkeys(_COUNTS, "sum"),
    }
    found = table.groupby(labels, sort=False, as_index=False).agg(how)
    return found.sort_values("score", ascending=False, kind="stable", ignore_index=True)


def guess_loss(task: str) -> float:
    """Returns ln C, the loss of a uniform guess among a task's C classes; inf if C is unknown."""
    found = builtin_registry().components["task"].get(task)
    classes = None if found is None else found.config.num_classes
    return math.inf if classes is None else math.log(classes)


def mean_of_all(scores: pd.Series[Any]) -> float:
    """Returns the mean of a method's scores, NaN if it lacks one: regimes are not equally hard."""
    return float(scores.mean(skipna=False))


def _means(
    study: StudyRuns, runs: pd.DataFrame, bound: float
) -> dict[tuple[Any, ...], pd.DataFrame]:
    """By method a row per regime of the study, in order; scores of one without runs are NaN."""
    # Kept losses have six decimals.
    counted = runs.assign(lost=~(runs["loss"] < round(bound, 6)), runs=1)
    names = list(study.method)
    by_draw = counted.groupby([*names, *study.regimes, "draw"]).agg(
        score=("accuracy", "mean"),
        other_score=("other_accuracy", "mean"),
        lost=("lost", "sum"),
        runs=("runs", "sum"),
    )
    how = {"score": "mean", "other_score": "mean", "lost": "sum", "runs": "sum"}
    by_regime = by_draw.groupby([*names, *study.regimes]).agg(how)
    regimes = study.regime_values()
    every = pd.MultiIndex.from_tuples(regimes, names=list(study.regimes))
    said = [label(study.regimes, regime) for regime in regimes]
    means = {}
    for key, part in by_regime.groupby(names):
        part.index = pd.MultiIndex.from_frame(part.index.to_frame(index=False)[list(study.regimes)])
        found = part.reindex(every)
        found[["lost", "runs"]] = found[["lost", "runs"]].fillna(0).astype(int)
        found.insert(0, "regime", said)
        means[key] = found.reset_index(drop=True)
    return means
