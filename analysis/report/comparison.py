"""Two methods under equal conditions: their paired difference, and whether it bears a claim out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from f3ast_tff.analysis.paired_difference import PairedDifference, paired_difference
from f3ast_tff.analysis.report.claims import Claim
from f3ast_tff.analysis.run_groups import RunGroup, higher_is_better

HOLDS = "holds"
DOES_NOT_HOLD = "does not hold"
NOT_ENOUGH = "not enough runs"
RELATIONS = ("better", "same", "not worse")
# What counts as the same, in accuracy or loss; chosen here: one point of accuracy.
MARGIN = 0.01


@dataclass(frozen=True)
class Verdict:
    """A verdict.

    Attributes:
        verdict: `HOLDS`, `DOES_NOT_HOLD` or `NOT_ENOUGH`.
        reason: Why, in a few words.
    """

    verdict: str
    reason: str


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


def compare(
    claim: Claim,
    at: object,
    a: RunGroup | None,
    b: RunGroup | None,
    period: str,
    rounds: int | None,
) -> Comparison:
    """Compares A with B.

    Args:
        claim: Which metric, and what is claimed of it.
        at: The column.
        a: Runs of `claim.a`; `None` if there are none.
        b: Those of `claim.b`, comparable with A's.
        period: As `RunGroup.scores` takes it.
        rounds: The paper's number of rounds; `None` if it gives none.
    """
    found, num_common = None, 0
    if a is not None and b is not None:
        first, second = (group.scores(claim.metric, period) for group in (a, b))
        num_common = len(first.keys() & second.keys())
        if num_common >= 2:
            found = paired_difference(first, second)
    if not claim.source:
        return Comparison(claim, at, found, None)
    missing = [name for name, group in ((claim.a, a), (claim.b, b)) if group is None]
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
    claim: Claim, ends: tuple[Any, Any], found: Mapping[tuple[str, str, Any], RunGroup], period: str
) -> Comparison:
    """Compares the lead of A over B in two columns: "the gap widens" (F3AST Fig. 4).

    Args:
        claim: Which lead; its relation is not used.
        ends: The first and the last column.
        found: Groups by task, algorithm and column; A and B are there at both ends.
        period: As `RunGroup.scores` takes it.
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


def judge(
    relation: str,
    higher_is_better: bool,
    paper: float | None,
    found: PairedDifference | None,
    num_common: int,
    needed: int,
) -> Verdict:
    """Judges the claim that A is better than B (the same, not worse) by the interval of A - B.

    An interval that lies on one side of 0 decides. One that holds 0 speaks against "better" only
    if it leaves out the paper's difference, or, where the paper prints none, `MARGIN`; else the
    runs cannot tell.

    Args:
        relation: One of `RELATIONS`.
        higher_is_better: Of the score; a loss is better when lower.
        paper: The paper's A - B; `None` where it gives no number.
        found: A - B over seeds; `None` for fewer than 2 common seeds.
        num_common: Common seeds.
        needed: Fewest seeds to judge by.
    """
    if found is None or num_common < needed:
        return Verdict(NOT_ENOUGH, f"{num_common} common seeds, {needed} are needed")
    if math.isnan(found.mean):
        return Verdict(NOT_ENOUGH, "a run diverged")
    sign = 1.0 if higher_is_better else -1.0
    low, high = sorted((sign * found.low, sign * found.high))
    if relation == "same":
        if low >= -MARGIN and high <= MARGIN:
            return Verdict(HOLDS, f"within {MARGIN}")
        if low > MARGIN or high < -MARGIN:
            return Verdict(DOES_NOT_HOLD, "better" if low > 0 else "worse")
        return Verdict(NOT_ENOUGH, f"the interval reaches beyond {MARGIN}")
    if high < 0:
        return Verdict(DOES_NOT_HOLD, "worse")
    if relation == "not worse":
        if low >= -MARGIN:
            return Verdict(HOLDS, f"not worse by more than {MARGIN}")
        return Verdict(NOT_ENOUGH, f"the interval reaches below -{MARGIN}")
    if low > 0:
        return Verdict(HOLDS, "better")
    claimed = MARGIN if paper is None else sign * paper
    if high >= claimed:
        what = f"{MARGIN}" if paper is None else "the paper's difference"
        return Verdict(NOT_ENOUGH, f"the interval holds both 0 and {what}")
    what = f"a lead of {MARGIN}" if paper is None else "the paper's difference"
    return Verdict(DOES_NOT_HOLD, f"the interval holds 0, and {what} is above it")
