"""Verdicts on a family of claims that A is better than B: on the direction, and on the size.

**Direction.** `BETTER` or `WORSE` if the interval of A - B lies on one side of 0, `CLOSE` if it
contains 0. `NOT_JUDGED`, with the reason, if there are too few draws or another obstacle. "Not
worse" is judged like "better", because no paper gives a margin. "The same" claims no direction: it
claims a size.

**Size.** The interval is compared with the number that a paper prints, turned so that positive is
better: `SMALLER` or `LARGER` where the whole interval lies below or above it; `AS_PRINTED` where
the interval holds the number and is shorter than the number is large, so that it leaves out both 0
and the double; `OPEN` otherwise.

**Correction.** Claims of one family are corrected by Holm's step-down rule, their directions as one
family and their sizes as another. In a family of directions without any effect the probability of
a "better" or "worse" is at most `ERROR`; in a family whose sizes are all the paper's, that of a
"smaller" or "larger". Claims of rank k by their p values (the smallest first) out of m are judged
by the interval of level 1 - ERROR / (m - k + 1); from the first whose null hypothesis stands, all
are judged at the level of that one.

**Divergence.** A method that diverges in more than half of the runs loses without a test, and its
claim belongs to no family. If fewer runs diverge and the score has no worst value (`pairs`), there
is no mean: the exact sign test over draws decides the direction, and there is no size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from f3ast_tff.analysis.compare.paired_difference import PairedDifference
from f3ast_tff.analysis.compare.pairs import Paired

BETTER, WORSE, CLOSE, NOT_JUDGED = "better", "worse", "too close to call", "not judged"
WORDS = (BETTER, CLOSE, WORSE, NOT_JUDGED)
AS_PRINTED, SMALLER, LARGER, OPEN = "as printed", "smaller", "larger", "open"
SIZES = (AS_PRINTED, SMALLER, LARGER, OPEN)
SAME = "same"
RELATIONS = ("better", SAME, "not worse")
HOLM, UNCORRECTED = "Holm", "none"
# Tests of a direction: the interval of the mean, or the exact sign test over draws.
OF_MEAN, OF_SIGNS = "mean", "signs"
# Probability of any false verdict in a family.
ERROR = 0.05
# Chosen here: with 5 draws t(0.975) is 2.78, with 3 it is 4.30.
FEWEST_DRAWS = 5
# Fewest common runs for a verdict if the data are not generated and no paper averages over more.
FEWEST_PAIRS = 3
TOO_FEW = "fewer than 2 common pairs of draw and seed"


@dataclass(frozen=True, eq=False)
class Claim:
    """A claim of a family: A is better than B (the same, not worse).

    Attributes:
        paired: A and B over their common runs; `None` if one of them was not run.
        relation: Relation claimed, of `RELATIONS`.
        printed: A - B as a paper prints it; `None` if it gives no number.
        obstacle: Reason why there can be no verdict, besides the number of draws; `""` without.
        fewest_pairs: Fewest common runs if the data are not generated; generated data need
            `FEWEST_DRAWS` draws.
    """

    paired: Paired | None
    relation: str = "better"
    printed: float | None = None
    obstacle: str = ""
    fewest_pairs: int = FEWEST_PAIRS

    @property
    def found(self) -> PairedDifference | None:
        """A - B; `None` for fewer than 2 common runs."""
        return None if self.paired is None else self.paired.found

    @property
    def reason_not_judged(self) -> str:
        """Reason why runs allow no verdict, `""` if they allow one."""
        if self.paired is None:
            return self.obstacle or TOO_FEW
        return too_few(self.paired, self.fewest_pairs) or self.obstacle

    @property
    def loser(self) -> str:
        """See `Divergence.loser`."""
        return "" if self.paired is None else self.paired.divergence.loser

    @property
    def can_test(self) -> bool:
        """Whether a test decides."""
        return self.found is not None and not self.reason_not_judged and not self.loser


@dataclass(frozen=True, eq=False)
class Verdict:
    """The verdicts on a claim.

    Attributes:
        claim: The claim.
        word: Verdict on the direction, of `WORDS`; `None` if the claim has no direction.
        size: Verdict on the size, of `SIZES`; `None` if no number is printed.
        reason: Reason why it is not judged, or which method diverged; `""` if a test decided.
        low: Lower end of the interval of A - B, at the corrected level (95% for a claim that is not
            judged); NaN without an interval.
        high: Upper end.
        p: P value of the direction, corrected; NaN if no test decided.
        error: Error of the test of the direction, in (0, `ERROR`]; `None` without a test.
        size_error: Error of the test of the size; `None` without a test.
    """

    claim: Claim
    word: str | None
    size: str | None
    reason: str
    low: float
    high: float
    p: float
    error: float | None = None
    size_error: float | None = None

    @property
    def level(self) -> float | None:
        """Level of the interval behind the direction; `None` without a test."""
        return None if self.error is None else 1 - self.error

    @property
    def size_level(self) -> float | None:
        """Level of the interval behind the size; `None` without a test."""
        return None if self.size_error is None else 1 - self.size_error

    @property
    def turned(self) -> Verdict:
        """The verdict on B against A."""
        words = {BETTER: WORSE, WORSE: BETTER}
        paired = self.claim.paired
        return replace(
            self,
            claim=replace(self.claim, paired=None if paired is None else paired.turned),
            word=words.get(str(self.word), self.word),
            low=-self.high,
            high=-self.low,
        )

    @property
    def mean(self) -> float:
        """Mean of A - B; NaN without a common run, or if a score is infinite."""
        return math.nan if self.claim.paired is None else self.claim.paired.mean


def judge(claims: Sequence[Claim], correction: str = HOLM, test: str = OF_MEAN) -> list[Verdict]:
    """Judges the claims of one family, in their order.

    Args:
        claims: The claims. One without a test does not count in the correction.
        correction: `HOLM`, or `UNCORRECTED` for 95% intervals and p values as they are.
        test: `OF_MEAN`, or `OF_SIGNS`, which no single draw decides.
    """
    directions = _Tests([_p_of_direction(claim, test) for claim in claims], correction)
    sizes = _Tests([_p_of_size(claim) for claim in claims], correction)
    return [
        _verdict(
            claim,
            error=directions.errors[place],
            p=directions.corrected[place],
            rejected=directions.rejected[place],
            size_error=sizes.errors[place],
        )
        for place, claim in enumerate(claims)
    ]


def too_few(paired: Paired, fewest_pairs: int = FEWEST_PAIRS) -> str:
    """Returns how many draws (runs) are missing for a verdict, `""` if none is."""
    draws, pairs = paired.num_draws, paired.num_pairs
    if paired.generates_data:
        if draws < FEWEST_DRAWS:
            return f"{draws} draw{'s' * (draws != 1)} of the data, {FEWEST_DRAWS} are needed"
    elif pairs < fewest_pairs:
        what = "run" if paired.independent else "common pair"
        common = f"{pairs} {what}{'s' * (pairs != 1)} of draw and seed"
        return f"{common}, {fewest_pairs} are needed"
    return ""


class _Tests:
    """A family of tests.

    Attributes:
        errors: Error of the test that judges each claim, in (0, `ERROR`]; `None` without a test.
        corrected: P values, corrected; NaN without a test.
        rejected: Whether each null hypothesis is rejected.
    """

    def __init__(self, p_values: Sequence[float | None], correction: str) -> None:
        self.errors: list[float | None] = [None] * len(p_values)
        self.corrected = [math.nan] * len(p_values)
        self.rejected = [False] * len(p_values)
        known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
        error, largest, stands = ERROR, 0.0, False
        for rank, (p, place) in enumerate(known):
            number = len(known) - rank if correction == HOLM else 1
            if not stands or correction != HOLM:
                error = ERROR / number
                stands = p > error
            largest = max(largest, p * number)
            self.errors[place] = error
            self.rejected[place] = not stands
            self.corrected[place] = min(largest, 1.0) if correction == HOLM else p


def _p_of_direction(claim: Claim, test: str) -> float | None:
    found = claim.found
    if found is None or not claim.can_test or claim.relation == SAME:
        return None
    return found.p_value if test == OF_MEAN else found.sign_p_value


def _p_of_size(claim: Claim) -> float | None:
    found = claim.found
    if found is None or not claim.can_test or claim.printed is None or found.num_diverged:
        return None
    return found.p_of(claim.printed)


def _verdict(
    claim: Claim, error: float | None, p: float, rejected: bool, size_error: float | None
) -> Verdict:
    """Judges one claim by tests with these errors; `None` for a missing test."""
    found = claim.found
    size = None if claim.printed is None else OPEN
    if claim.paired is not None and found is not None and size_error is not None:
        sign = claim.paired.sign
        low, high = sorted(sign * end for end in found.interval(1 - size_error))
        size = _size(low, high, sign * (claim.printed or 0.0))
    word, reason = _direction(claim, rejected)
    low, high = _ends(claim, error)
    return Verdict(
        claim,
        word=None if claim.relation == SAME else word,
        size=size,
        reason=reason,
        low=low,
        high=high,
        p=p,
        error=error,
        size_error=size_error,
    )


def _direction(claim: Claim, rejected: bool) -> tuple[str, str]:
    """The word, and the reason if no test decided."""
    found, paired = claim.found, claim.paired
    if reason := claim.reason_not_judged:
        return NOT_JUDGED, reason
    if found is None or paired is None:
        return NOT_JUDGED, TOO_FEW
    if claim.loser:
        word = {"A": WORSE, "B": BETTER}.get(claim.loser, CLOSE)
        return word, paired.divergence.said()
    if not rejected:
        return CLOSE, ""
    return (BETTER if found.is_above == paired.higher_is_better else WORSE), ""


def _ends(claim: Claim, error: float | None) -> tuple[float, float]:
    found, paired = claim.found, claim.paired
    if found is None or paired is None or found.num_diverged or claim.loser:
        return math.nan, math.nan
    one_draw = paired.generates_data and found.num_draws == 1
    return (math.nan, math.nan) if one_draw else found.interval(1 - (error or ERROR))


def _size(low: float, high: float, printed: float) -> str:
    if high < printed:
        return SMALLER
    if low > printed:
        return LARGER
    return AS_PRINTED if high - low < abs(printed) or low == high else OPEN
