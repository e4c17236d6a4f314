"""Verdicts on a family of claims, corrected for their number by Holm's step-down rule.

In a family without any effect the probability of at least one false "holds" is at most `ERROR`.
Claims of rank k by their p values (the smallest first) out of m are judged by the interval of
level 1 - ERROR / (m - k + 1); from the first whose null hypothesis stands, all are judged at the
level of that one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from f3ast_tff.analysis.paired_difference import PairedDifference
from f3ast_tff.analysis.run_groups import RunGroup
from f3ast_tff.components import builtin_registry

HOLDS = "holds"
DOES_NOT_HOLD = "does not hold"
NOT_ENOUGH = "not enough runs"
RELATIONS = ("better", "same", "not worse")
# What counts as the same, in accuracy or loss; chosen here: one point of accuracy.
MARGIN = 0.01
# Probability of any false "holds" in a family.
ERROR = 0.05
# Chosen here: with 5 draws t(0.975) is 2.78, with 3 it is 4.30.
FEWEST_DRAWS = 5


@dataclass(frozen=True)
class Question:
    """A claim of a family: A is better than B (the same, not worse).

    Attributes:
        relation: One of `RELATIONS`.
        higher_is_better: Of the score; a loss is better when lower.
        paper: The paper's A - B; `None` where it gives no number.
        found: A - B, ours; `None` for fewer than 2 common pairs.
        obstacle: Why there can be no verdict, `""` if there can.
    """

    relation: str
    higher_is_better: bool
    paper: float | None
    found: PairedDifference | None
    obstacle: str = ""

    @property
    def sign(self) -> float:
        """Turns a difference so that positive is better."""
        return 1.0 if self.higher_is_better else -1.0

    @property
    def claimed(self) -> float:
        """The difference that counts against 0: the paper's, else `MARGIN`; positive is better."""
        return MARGIN if self.paper is None else self.sign * self.paper


@dataclass(frozen=True)
class Verdict:
    """A verdict.

    Attributes:
        verdict: `HOLDS`, `DOES_NOT_HOLD` or `NOT_ENOUGH`.
        reason: Why, in a few words.
        confidence: Level of the interval that it rests on; `None` where none was judged by.
    """

    verdict: str
    reason: str
    confidence: float | None = None


def judge_family(family: Sequence[Question]) -> list[Verdict]:
    """Judges the claims of one table.

    Args:
        family: The claims. Those without a usable difference count nothing in the correction.

    Returns:
        A verdict for each, in their order.
    """
    verdicts: dict[int, Verdict] = {}
    p_values: dict[int, float] = {}
    for place, question in enumerate(family):
        obstacle = question.obstacle or _unusable(question.found)
        if obstacle:
            verdicts[place] = Verdict(NOT_ENOUGH, obstacle)
        else:
            p_values[place] = primary_p(question)
    for place, confidence in zip(p_values, holm(list(p_values.values()))):
        verdicts[place] = _judge(family[place], confidence)
    return [verdicts[place] for place in range(len(family))]


def holm(p_values: Sequence[float]) -> list[float]:
    """Returns the level of the interval that judges each claim of a family, in (0, 1).

    Args:
        p_values: Of the claims, none of them NaN.
    """
    confidences = [0.0] * len(p_values)
    error = ERROR
    stands = False
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    for rank, place in enumerate(order):
        if not stands:
            error = ERROR / (len(p_values) - rank)
            stands = p_values[place] > error
        confidences[place] = 1 - error
    return confidences


def primary_p(question: Question) -> float:
    """Returns the p value that ranks a claim within its family.

    `better`: two-sided, of no difference. `not worse`: twice the one-sided p value of a difference
    of -`MARGIN` or less. `same`: the larger of those at both margins (two one-sided tests).
    """
    found = question.found
    if found is None:
        raise ValueError("a claim without a difference has no p value")
    if question.relation == "better":
        return found.p_of(0.0)
    above, below = found.p_above(-MARGIN), found.p_below(MARGIN)
    if question.relation == "same":
        return min(2 * max(above, below), 1.0)
    return min(2 * (above if question.higher_is_better else below), 1.0)


def obstacle_to_verdict(
    groups: Sequence[RunGroup],
    found: PairedDifference | None,
    fewest_pairs: int,
    paper_rounds: int | None = None,
) -> str:
    """Returns why runs can bear no verdict, `""` if they can.

    Args:
        groups: The groups compared, at least one, of one task.
        found: Their difference; `None` for fewer than 2 common pairs.
        fewest_pairs: Fewest common pairs, where the data are not generated; where they are, it
            takes `FEWEST_DRAWS` draws.
        paper_rounds: The paper's number of rounds; `None` if it gives none, for the task's own.
    """
    first = groups[0]
    draws, pairs = (0, 0) if found is None else (found.num_draws, found.num_pairs)
    if found is None:
        common = set.intersection(*(set(group.runs) for group in groups))
        draws, pairs = len({pair.draw for pair in common}), len(common)
    if first.first.generates_data:
        if draws < FEWEST_DRAWS:
            return f"{draws} draw{'s' * (draws != 1)} of the data, {FEWEST_DRAWS} are needed"
    elif pairs < fewest_pairs:
        common_pairs = f"{pairs} common pair{'s' * (pairs != 1)} of draw and seed"
        return f"{common_pairs}, {fewest_pairs} are needed"
    rounds = first.setting("rounds")
    needed = paper_rounds or _published_rounds(first.settings["task"])
    if needed is not None and rounds < needed:
        return f"{rounds} rounds, {needed} are needed"
    return ""


def _published_rounds(task: str) -> int | None:
    component = builtin_registry().components["task"].get(task)
    return None if component is None else component.config.published.get("rounds")


def _unusable(found: PairedDifference | None) -> str:
    if found is None:
        return "fewer than 2 common pairs of draw and seed"
    return "a run diverged" if math.isnan(found.mean) else ""


def _judge(question: Question, confidence: float) -> Verdict:
    """Judges one claim by its interval.

    One on one side of 0 decides on "better"; one that holds 0 speaks against "better" only if it
    leaves out the claimed difference. For the other relations the margin takes the place of 0.
    """
    found = question.found
    assert found is not None
    low, high = sorted(question.sign * end for end in found.interval(confidence))
    if question.relation == "same":
        verdict, reason = _same(low, high)
    elif question.relation == "not worse":
        verdict, reason = _not_worse(low, high)
    else:
        verdict, reason = _better(question, low, high)
    return Verdict(verdict, reason, confidence)


def _same(low: float, high: float) -> tuple[str, str]:
    if low >= -MARGIN and high <= MARGIN:
        return HOLDS, f"within {MARGIN}"
    if low > MARGIN or high < -MARGIN:
        return DOES_NOT_HOLD, "better" if low > 0 else "worse"
    return NOT_ENOUGH, f"the interval reaches beyond {MARGIN}"


def _not_worse(low: float, high: float) -> tuple[str, str]:
    if low >= -MARGIN:
        return HOLDS, f"not worse by more than {MARGIN}"
    if high < -MARGIN:
        return DOES_NOT_HOLD, "worse"
    return NOT_ENOUGH, f"the interval reaches below -{MARGIN}"


def _better(question: Question, low: float, high: float) -> tuple[str, str]:
    if low > 0:
        return HOLDS, f"better{_of_paper(question)}"
    if high < 0:
        return DOES_NOT_HOLD, "worse"
    if high >= question.claimed:
        what = f"{MARGIN}" if question.paper is None else "the paper's difference"
        return NOT_ENOUGH, f"the interval holds both 0 and {what}"
    what = f"a lead of {MARGIN}" if question.paper is None else "the paper's difference"
    return DOES_NOT_HOLD, f"the interval holds 0, and {what} is above it"


def _of_paper(question: Question) -> str:
    """The difference as a share of the paper's, with its uncorrected interval."""
    found, paper = question.found, question.paper
    if found is None or not paper:
        return ""
    low, high = sorted((found.low / paper, found.high / paper))
    return f", {found.mean / paper:.2f} [{low:.2f}, {high:.2f}] of the paper's"
