"""Whether runs bear a claim out: holds, does not hold, or not enough runs."""

from __future__ import annotations

import math
from dataclasses import dataclass

from f3ast_tff.analysis.paired_difference import PairedDifference

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
