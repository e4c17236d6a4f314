"""Two samples of one world, compared: paired difference, relative improvement, verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from f3ast_tff.analysis.paired_difference import PairedDifference, paired_difference
from f3ast_tff.analysis.report.claims import Claim
from f3ast_tff.analysis.report.samples import Sample, higher_is_better
from f3ast_tff.analysis.report.verdict import NOT_ENOUGH, Verdict, judge


@dataclass(frozen=True)
class Score:
    """Mean and standard deviation over seeds.

    Attributes:
        mean: NaN if one is not finite.
        deviation: With n - 1 degrees of freedom; NaN for one seed.
        num_seeds: n.
    """

    mean: float
    deviation: float
    num_seeds: int


@dataclass(frozen=True)
class Comparison:
    """One line of a table of claims.

    Attributes:
        claim: What is compared; a claim of no paper has source "".
        at: The column.
        found: A - B over common seeds; `None` for fewer than 2.
        verdict: The verdict; `None` for what no paper claims.
    """

    claim: Claim
    at: object
    found: PairedDifference | None
    verdict: Verdict | None


def score(sample: Sample, metric: str, period: str) -> Score:
    """Returns a sample's mean score."""
    values = np.array(list(sample.scores(metric, period).values()))
    if not np.isfinite(values).all():
        return Score(math.nan, math.nan, len(values))
    deviation = float(values.std(ddof=1)) if len(values) > 1 else math.nan
    return Score(float(values.mean()), deviation, len(values))


def compare(
    claim: Claim, at: object, a: Sample | None, b: Sample | None, period: str, rounds: int | None
) -> Comparison:
    """Compares A with B.

    Args:
        claim: Which metric, and what is claimed of it.
        at: The column.
        a: Runs of `claim.a`; `None` if there are none.
        b: Those of `claim.b`, comparable with A's.
        period: As `Sample.scores` takes it.
        rounds: The paper's number of rounds; `None` if it gives none.
    """
    found, num_common = None, 0
    if a is not None and b is not None:
        first, second = (sample.scores(claim.metric, period) for sample in (a, b))
        num_common = len(first.keys() & second.keys())
        if num_common >= 2:
            found = paired_difference(first, second)
    if not claim.source:
        return Comparison(claim, at, found, None)
    missing = [name for name, sample in ((claim.a, a), (claim.b, b)) if sample is None]
    run_rounds = None if a is None else a.setting("rounds")
    if missing:
        verdict = Verdict(NOT_ENOUGH, "not run")
    elif rounds is not None and run_rounds != rounds:
        verdict = Verdict(NOT_ENOUGH, f"{run_rounds} rounds, the paper's are {rounds}")
    else:
        upwards = higher_is_better(claim.metric)
        verdict = judge(claim.relation, upwards, claim.paper, found, num_common, claim.seeds)
    return Comparison(claim, at, found, verdict)


def widening(
    claim: Claim, ends: tuple[Any, Any], found: Mapping[tuple[str, str, Any], Sample], period: str
) -> Comparison:
    """Compares the lead of A over B in two columns: "the gap widens" (F3AST Fig. 4).

    Args:
        claim: Which lead; its relation is not used.
        ends: The first and the last column.
        found: Samples by task, algorithm and column; A and B are there at both ends.
        period: As `Sample.scores` takes it.
    """
    leads = []
    for at in ends:
        a, b = (
            found[claim.task, name, at].scores(claim.metric, period) for name in (claim.a, claim.b)
        )
        leads.append({seed: a[seed] - b[seed] for seed in a.keys() & b.keys()})
    num_common = len(leads[0].keys() & leads[1].keys())
    difference = paired_difference(leads[1], leads[0]) if num_common >= 2 else None
    wider = replace(claim, source=f"{claim.source}, gap widens", relation="better")
    upwards = higher_is_better(claim.metric)
    verdict = judge("better", upwards, None, difference, num_common, claim.seeds)
    return Comparison(wider, f"{ends[0]} to {ends[1]}", difference, verdict)
