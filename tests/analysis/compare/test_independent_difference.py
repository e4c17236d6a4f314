"""Two independent samples: Welch's interval, and the rank-sum test where runs diverged."""

from __future__ import annotations

import math

import pytest
from scipy import stats  # type: ignore[import-untyped]

from f3ast_tff.analysis.compare.independent_difference import independent_difference
from f3ast_tff.analysis.compare.judge import BETTER, CLOSE, NOT_JUDGED, WORSE, Claim, judge
from f3ast_tff.analysis.compare.pairs import Paired
from f3ast_tff.analysis.compare.scored import Pair


def runs(*values: float, first: int = 0) -> dict[Pair, float]:
    return {Pair(0, first + seed): value for seed, value in enumerate(values)}


def test_welch_by_hand_and_by_scipy() -> None:
    """Means 2 and 6, variances 1 and 8: error^2 = 1/3 + 8/2 = 13/3.

    Degrees of freedom: (13/3)^2 / ((1/3)^2 / 2 + 4^2 / 1) = 18.778 / 16.056 = 1.1696.
    """
    found = independent_difference(runs(1, 2, 3), runs(4, 8))
    assert found is not None
    assert (found.mean, found.num_pairs, found.num_a, found.num_b) == (-4.0, 2, 3, 2)
    assert found.standard_error == pytest.approx(math.sqrt(13 / 3))
    assert found.degrees == pytest.approx(1.1696, abs=1e-4)
    theirs = stats.ttest_ind([1, 2, 3], [4, 8], equal_var=False)
    reach = stats.t.ppf(0.95, found.degrees) * math.sqrt(13 / 3)
    assert found.interval(0.9) == pytest.approx((-4 - reach, -4 + reach))
    assert found.p_of(0.0) == pytest.approx(theirs.pvalue)


def test_a_seed_of_both_is_no_pair() -> None:
    """The same seeds, shifted by .1 each: as pairs they are certain, as two samples they are not.

    The spread of each sample is 1, ten times the shift.
    """
    a, b = runs(0.1, 1.1, 2.1), runs(0.0, 1.0, 2.0)
    words = [
        judge([Claim(Paired(a, b, higher_is_better=True, independent=independent))])[0].word
        for independent in (False, True)
    ]
    assert words == [BETTER, CLOSE]


@pytest.mark.parametrize(
    ("a", "b", "word"),
    [
        ((0.9, 0.91, 0.92, 0.9), (0.5, 0.52, 0.51), BETTER),
        ((0.5, 0.52, 0.51), (0.9, 0.91, 0.92, 0.9), WORSE),
        ((0.9, 0.91), (0.5, 0.52, 0.51), NOT_JUDGED),
        # Ranks only: 5 against 5 without overlap have p = 2 / 252.
        ((0.9, 0.8, 0.85, 0.8, math.inf), (-1.0, -0.5, -0.6, -0.7, -math.inf), BETTER),
    ],
)
def test_verdicts(a: tuple[float, ...], b: tuple[float, ...], word: str) -> None:
    paired = Paired(runs(*a), runs(*b, first=50), higher_is_better=True, independent=True)
    (verdict,) = judge([Claim(paired)])
    assert verdict.word == word
    assert verdict.turned.word == {BETTER: WORSE, WORSE: BETTER}.get(word, word)


def test_draws_count_not_their_seeds() -> None:
    """Two draws of two seeds each are two values: .2 and .6, with variance .08."""
    draws = {Pair(0, 0): 0.1, Pair(0, 1): 0.3, Pair(1, 0): 0.5, Pair(1, 1): 0.7}
    found = independent_difference(draws, runs(0.0, 0.0))
    assert found is not None
    assert (found.num_a, found.mean) == (2, pytest.approx(0.4))
    assert found.standard_error == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("a", "b", "p"),
    [
        # 1 of the 10 ways to choose 2 ranks of 5, doubled.
        ((-math.inf, -math.inf), (1.0, 2.0, 3.0), 0.2),
        # Level with all: certain.
        ((math.inf, math.inf), (math.inf, math.inf), 1.0),
        # 5 against 5, apart: 2 / 252.
        ((math.inf,) * 5, (1.0, 2.0, 3.0, 4.0, 5.0), 2 / 252),
    ],
)
def test_ranks_of_runs_that_diverged(a: tuple[float, ...], b: tuple[float, ...], p: float) -> None:
    found = independent_difference(runs(*a), runs(*b))
    assert found is not None and found.p_value == pytest.approx(p)
