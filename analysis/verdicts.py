"""Two verdicts on a claim that A is better than B: its direction, and its size.

The direction says on which side of 0 the difference A - B lies: `HOLDS` (A's), `REVERSED` (B's),
or `OPEN`. "Not worse" is judged like "better", because no paper gives a margin: an interval on A's
side shows it, an interval on B's side contradicts it. "The same" claims no
direction: it claims a size, the printed difference.

The size compares the difference with the paper's, where it prints one, as an interval of A - B
turned so that positive is better: `SMALLER` or `LARGER` where the whole interval lies below or
above the printed number; `AS_PRINTED` where it holds that number and is shorter than the number
is large, so that it leaves out both 0 and the double; `OPEN` otherwise.

The claims of one figure or table are corrected by Holm's step-down rule, their directions as one
family and their sizes as another. In a family of directions without any effect the probability of
a "holds" or "reversed" is at most `ERROR`; in a family whose sizes are all the paper's, that of a
"smaller" or "larger". Claims of rank k by their p values (the smallest first) out of m are judged
by the interval of level 1 - ERROR / (m - k + 1); from the first whose null hypothesis stands, all
are judged at the level of that one.

A method that diverges in more than half of the runs loses without a test, and its claim belongs to
no family. If fewer runs diverge and there is no mean, the exact sign test over draws decides the
direction; a diverged run is worse than any other. There is no size then.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from f3ast_tff.analysis.paired_difference import PairedDifference, difference_of_common
from f3ast_tff.analysis.run_groups import RunGroup
from f3ast_tff.analysis.runs import Pair
from f3ast_tff.analysis.texts import median_and_signs
from f3ast_tff.settings import builtin_registry

HOLDS = "holds"
REVERSED = "reversed"
OPEN = "open"
DIRECTIONS = (HOLDS, REVERSED, OPEN)
AS_PRINTED = "as printed"
SMALLER = "smaller"
LARGER = "larger"
SIZES = (AS_PRINTED, SMALLER, LARGER, OPEN)
RELATIONS = ("better", "same", "not worse")
# Probability of any false verdict in a family.
ERROR = 0.05
# Chosen here: with 5 draws t(0.975) is 2.78, with 3 it is 4.30.
FEWEST_DRAWS = 5
# Fewest common pairs for a verdict if the data are not generated and no paper averages over more.
FEWEST_PAIRS = 3


@dataclass(frozen=True)
class Divergence:
    """Number of common runs in which A and B diverged."""

    a: int
    b: int
    runs: int

    @property
    def loser(self) -> str:
        """`A`, `B` or `AB`: methods that diverged in more than half of the runs; `""` if none."""
        return "A" * (2 * self.a > self.runs) + "B" * (2 * self.b > self.runs)

    def said(self, a: str = "A", b: str = "B") -> str:
        """Returns which method diverged how often, by its name; `""` if none did."""
        counts = [(name, n) for name, n in ((a, self.a), (b, self.b)) if n]
        said = " and ".join(f"{name} diverged in {n} of {self.runs}" for name, n in counts)
        return f"{said} runs" if said else ""


@dataclass(frozen=True)
class Question:
    """A claim of a family: A is better than B (the same, not worse).

    Attributes:
        relation: Relation claimed, of `RELATIONS`.
        higher_is_better: Whether a higher score is better; a loss is better when lower.
        paper: The paper's A - B; `None` if it gives no number.
        found: Our A - B; `None` for fewer than 2 common pairs.
        obstacle: Reason why there can be no verdict, `""` if there can.
        divergence: Numbers of runs in which A and B diverged.
    """

    relation: str
    higher_is_better: bool
    paper: float | None
    found: PairedDifference | None
    obstacle: str = ""
    divergence: Divergence = Divergence(0, 0, 0)

    @property
    def sign(self) -> float:
        """Turns a difference so that positive is better."""
        return 1.0 if self.higher_is_better else -1.0


@dataclass(frozen=True)
class Verdict:
    """The verdicts on a claim.

    Attributes:
        direction: Verdict on the direction, of `DIRECTIONS`; `None` if the claim has no direction.
        size: Verdict on the size, of `SIZES`; `None` if the paper prints no number.
        reason: Reason in a few words.
        confidence: Level of the interval behind the direction; `None` without an interval.
        size_confidence: Level of the interval behind the size; `None` without an interval.
    """

    direction: str | None
    size: str | None
    reason: str
    confidence: float | None = None
    size_confidence: float | None = None


def judge_family(family: Sequence[Question]) -> list[Verdict]:
    """Judges the claims of one figure or table, in their order.

    Claims without a usable difference do not count in the correction.
    """
    p_values = [_p_values(question) for question in family]
    errors, size_errors = (holm([each[place] for each in p_values]) for place in (0, 1))
    return [
        _judge(question, error, size_error) if _can_test(question) else _untested(question)
        for question, error, size_error in zip(family, errors, size_errors)
    ]


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Returns the error of the test that judges each claim of a family, in (0, `ERROR`].

    Args:
        p_values: P values of the claims, not NaN; `None` for a claim without a test, which does not
            count and has no error.
    """
    errors: list[float | None] = [None] * len(p_values)
    error = ERROR
    stands = False
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    for rank, (p, place) in enumerate(known):
        if not stands:
            error = ERROR / (len(known) - rank)
            stands = p > error
        errors[place] = error
    return errors


def corrected_intervals(family: Sequence[PairedDifference | None]) -> list[tuple[float, float]]:
    """Returns the ends of the intervals of a family of differences, corrected by Holm's rule.

    The ends are NaN if a difference is `None`.
    """
    errors = holm([None if each is None else each.p_value for each in family])
    return [
        each.interval(1 - error) if each and error else (math.nan, math.nan)
        for each, error in zip(family, errors)
    ]


def adjusted(p_values: Sequence[float]) -> list[float]:
    """Returns the p values that Holm's rule corrects for their number: below `ERROR` if rejected.

    None of them may be NaN.
    """
    found = [1.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda each: p_values[each])):
        largest = max(largest, p_values[place] * (len(p_values) - rank))
        found[place] = min(largest, 1.0)
    return found


def question(
    a: RunGroup,
    b: RunGroup,
    metric: str,
    period: str | int,
    *,
    relation: str = "better",
    paper: float | None = None,
    fewest_pairs: int = FEWEST_PAIRS,
    rounds: int = 0,
) -> Question:
    """Asks whether a is better than b over their common pairs of data draw and seed.

    Args:
        a: Runs of one method.
        b: Runs of another method under equal conditions.
        metric: Score, see `RunGroup.scores`.
        period: Time of the score, see `RunGroup.scores`.
        relation: Relation claimed, of `RELATIONS`.
        paper: The paper's a - b; `None` if it gives no number.
        fewest_pairs: See `obstacle_to_verdict`.
        rounds: See `obstacle_to_verdict`.
    """
    found = difference_of_common(*(ranked(group, metric, period) for group in (a, b)))
    common = a.runs.keys() & b.runs.keys()
    of_a, of_b = (len(common & _diverged(group, metric, period)) for group in (a, b))
    return Question(
        relation,
        a.higher_is_better(metric),
        paper=paper,
        found=found,
        obstacle=obstacle_to_verdict((a, b), found, fewest_pairs, rounds),
        divergence=Divergence(of_a, of_b, len(common)),
    )


def ranked(group: RunGroup, metric: str, period: str | int) -> dict[Pair, float]:
    """Returns scores by pair; a score that is not finite is worse than any other."""
    worst = -math.inf if group.higher_is_better(metric) else math.inf
    scores = group.scores(metric, period)
    return {pair: value if math.isfinite(value) else worst for pair, value in scores.items()}


def _diverged(group: RunGroup, metric: str, period: str | int) -> set[Pair]:
    """The runs whose score, or whose sample loss at the same time, is not finite."""
    every = [group.scores(name, period) for name in (metric, "sample_loss")]
    return {pair for scores in every for pair, value in scores.items() if not math.isfinite(value)}


def obstacle_to_verdict(
    groups: Sequence[RunGroup],
    found: PairedDifference | None,
    fewest_pairs: int = FEWEST_PAIRS,
    rounds: int | None = None,
) -> str:
    """Returns the reason why runs allow no verdict, `""` if they allow one.

    Args:
        groups: The compared groups of one task, at least one.
        found: Their difference; `None` for fewer than 2 common pairs.
        fewest_pairs: Fewest common pairs if the data are not generated; generated data need
            `FEWEST_DRAWS` draws.
        rounds: Fewest rounds; `None` for those of the task's paper.
    """
    first = groups[0]
    common = set.intersection(*(set(group.runs) for group in groups))
    pairs = len(common) if found is None else found.num_pairs
    draws = len({pair.draw for pair in common}) if found is None else found.num_draws
    if first.first.generates_data:
        if draws < FEWEST_DRAWS:
            return f"{draws} draw{'s' * (draws != 1)} of the data, {FEWEST_DRAWS} are needed"
    elif pairs < fewest_pairs:
        common_pairs = f"{pairs} common pair{'s' * (pairs != 1)} of draw and seed"
        return f"{common_pairs}, {fewest_pairs} are needed"
    needed = published_rounds(first.settings["task"]) if rounds is None else rounds
    if first.settings["rounds"] < needed:
        return f"{first.settings['rounds']} rounds, {needed} are needed"
    return ""


def published_rounds(task: str) -> int:
    """Returns the rounds of a task in its paper; 0 if unknown."""
    component = builtin_registry().components["task"].get(task)
    return 0 if component is None else component.config.published.get("rounds", 0)


def _can_test(question: Question) -> bool:
    usable = question.found is not None and not question.obstacle
    return usable and not question.divergence.loser


def _p_values(question: Question) -> tuple[float | None, float | None]:
    """P values of direction and size; `None` without a test."""
    found = question.found
    if found is None or not _can_test(question):
        return None, None
    direction = None if question.relation == "same" else found.p_value
    if question.paper is None or found.num_diverged:
        return direction, None
    return direction, found.p_of(question.paper)


def _untested(question: Question) -> Verdict:
    """The verdict on a claim without a test: too few runs, or a method that diverges."""
    size = None if question.paper is None else OPEN
    direction, reason = OPEN, question.obstacle or "fewer than 2 common pairs of draw and seed"
    if question.found is not None and not question.obstacle:
        loser, reason = question.divergence.loser, question.divergence.said()
        direction = {"A": REVERSED, "B": HOLDS}.get(loser, OPEN)
    return Verdict(None if question.relation == "same" else direction, size, reason)


def _judge(question: Question, error: float | None, size_error: float | None) -> Verdict:
    """Judges one claim by tests with these errors; `None` for a missing test."""
    found = question.found
    assert found is not None
    direction = None if error is None else _direction(question, found, error)
    size = None if question.paper is None else OPEN
    if question.paper is not None and size_error is not None:
        low, high = sorted(question.sign * end for end in found.interval(1 - size_error))
        size = _size(low, high, question.sign * question.paper)
    return Verdict(
        direction,
        size,
        reason=_reason(question, found, direction),
        confidence=None if error is None else 1 - error,
        size_confidence=None if size_error is None else 1 - size_error,
    )


def _direction(question: Question, found: PairedDifference, error: float) -> str:
    if found.p_value > error:
        return OPEN
    return HOLDS if found.is_above == question.higher_is_better else REVERSED


def _size(low: float, high: float, printed: float) -> str:
    if high < printed:
        return SMALLER
    if low > printed:
        return LARGER
    return AS_PRINTED if high - low < abs(printed) or low == high else OPEN


def _reason(question: Question, found: PairedDifference, direction: str | None) -> str:
    """The grounds of the verdicts; the share of the paper's has its uncorrected interval."""
    if found.num_diverged:
        best, worst = found.num_above, found.num_below
        if not question.higher_is_better:
            best, worst = worst, best
        what = "draws" if found.num_draws > 1 else "seeds"
        signs = f"better in {best} and worse in {worst} of {found.num_units} {what} (sign test)"
        return f"{signs}; {question.divergence.said() or 'a run diverged'}"
    words = {
        HOLDS: "better",
        REVERSED: "worse",
        OPEN: "; ".join(filter(None, ["the interval contains 0", median_and_signs(found)])),
    }
    said = [words[direction]] if direction else []
    if question.paper:
        low, high = sorted((found.low / question.paper, found.high / question.paper))
        said.append(f"{found.mean / question.paper:.2f} [{low:.2f}, {high:.2f}] of the paper's")
    text = ", ".join(said) or "the paper prints both equal"
    return "; ".join(filter(None, [text, question.divergence.said()]))
