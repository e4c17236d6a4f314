"""Differences of two methods, paired or of two samples, with their intervals and seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from f3ast_tff.analysis.compare.independent_difference import independent_difference
from f3ast_tff.analysis.compare.judge import BETTER, CLOSE, NOT_JUDGED, WORSE, Claim, judge
from f3ast_tff.analysis.compare.paired_difference import PairedDifference, paired_difference
from f3ast_tff.analysis.compare.pairs import Paired
from f3ast_tff.analysis.compare.scored import Pair
from f3ast_tff.analysis.compare.seeds import seeds_needed


def seeds(*values: float) -> dict[Pair, float]:
    """Scores of one draw by seed."""
    return {Pair(0, seed): value for seed, value in enumerate(values)}


def over_draws(draws: Sequence[Sequence[float]]) -> PairedDifference:
    """Compares these differences with 0; one list of seeds per draw."""
    a = {Pair(i, j): value for i, each in enumerate(draws) for j, value in enumerate(each)}
    return paired_difference(a, dict.fromkeys(a, 0.0))


def skew_of(values: np.ndarray) -> float:
    """SciPy's skewness, corrected for the number of values; 0 for two values."""
    return float(stats.skew(values, bias=False)) if len(values) > 2 else 0.0


def numbers(found: PairedDifference) -> tuple[float, float, float, float]:
    return found.mean, found.low, found.high, found.p_value


# SciPy's own warning, with the locked NumPy.
@pytest.mark.filterwarnings("ignore:np.find_common_type:DeprecationWarning")
@pytest.mark.parametrize("num_seeds", [2, 3, 10])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
@pytest.mark.parametrize("across", ["seeds", "draws"])
def test_agrees_with_scipy(num_seeds: int, confidence: float, across: str) -> None:
    """One draw with several seeds, and several draws with one seed each, give the same numbers."""
    random = np.random.default_rng(num_seeds)
    pairs = [Pair(n, 0) if across == "draws" else Pair(0, n) for n in range(num_seeds)]
    a = dict(zip(pairs, random.normal(0.8, 0.1, num_seeds)))
    b = dict(zip(pairs, random.normal(0.7, 0.1, num_seeds)))
    found = paired_difference(a, b)
    difference = np.array([a[pair] - b[pair] for pair in pairs])
    low, high = stats.t.interval(
        confidence, num_seeds - 1, loc=difference.mean(), scale=stats.sem(difference)
    )
    test = stats.ttest_rel(list(a.values()), list(b.values()))
    without = replace(found, skewness=0.0)
    ends = without.interval(confidence)
    expected = (difference.mean(), low, high, test.pvalue)
    assert (without.mean, *ends, without.p_value) == pytest.approx(expected, rel=1e-9)
    assert found.low <= without.low and without.high <= found.high
    assert found.skewness == pytest.approx(skew_of(difference), rel=1e-9)
    assert found.num_pairs == num_seeds
    assert found.num_draws == (num_seeds if across == "draws" else 1)


@pytest.mark.filterwarnings("ignore:np.find_common_type:DeprecationWarning")
def test_equal_numbers_of_seeds_give_the_t_interval_over_draw_means() -> None:
    draws = np.random.default_rng(0).normal(0.1, 0.3, (7, 1)) + np.random.default_rng(1).normal(
        0, 0.2, (7, 4)
    )
    found = over_draws(draws.tolist())
    means = draws.mean(axis=1)
    low, high = stats.t.interval(0.95, 6, loc=means.mean(), scale=stats.sem(means))
    expected = (means.mean(), low, high, stats.ttest_1samp(means, 0).pvalue)
    assert numbers(replace(found, skewness=0.0)) == pytest.approx(expected, rel=1e-9)
    assert found.skewness == pytest.approx(skew_of(means), rel=1e-9)
    assert (found.num_pairs, found.num_units) == (28, 7)
    assert found.covers == "draws of the data, 7 of them"


def test_by_hand() -> None:
    """Differences 1, 3: mean 2, standard error 1; t(0.975; 1) = 12.7062; p = 2 atan(1/2) / pi."""
    found = paired_difference(seeds(1.0, 4.0), seeds(0.0, 1.0))
    expected = (2.0, 2 - 12.7062047, 2 + 12.7062047, 2 * math.atan(0.5) / math.pi)
    assert numbers(found) == pytest.approx(expected)
    assert found.covers == "seeds of one draw of the data"


def test_unequal_numbers_of_seeds_by_hand() -> None:
    """Draws {0}, {3, 5}, {7} have means 0, 4, 7; sigma^2 = 2 with 1 degree of freedom.

    The means lie around 11/3: squares (121 + 1 + 100) / 9, V = 37/3, and
    tau^2 = 37/3 - 2 (1 + 1/2 + 1) / 3 = 32/3. Their variances are 38/3, 35/3 and 38/3, so their
    weights are as 35, 38, 35. The mean is (4 * 38 + 7 * 35) / 108 = 397/108.
    """
    w = np.array([3 / 38, 3 / 35, 3 / 38])
    d = np.array([0.0, 4.0, 7.0])
    mean = (w * d).sum() / w.sum()
    error = math.sqrt((w * (d - mean) ** 2).sum() / (2 * w.sum()))
    found = over_draws([[0], [3, 5], [7]])
    assert (found.mean, found.standard_error) == pytest.approx((mean, error))
    assert mean == pytest.approx(397 / 108)
    # t(0.975; 2) = 4.3026527; the longer tail is below.
    assert found.high == pytest.approx(mean + 4.3026527 * error)
    assert found.skewness == pytest.approx(
        math.sqrt(6)
        * (w * (d - mean) ** 3).sum()
        / (w * (d - mean) ** 2).sum() ** 1.5
        * math.sqrt(w.sum())
    )
    assert found.skewness < 0 and found.low < mean - 4.3026527 * error


def test_skewed_differences_by_hand() -> None:
    """Differences 0, 0, 3: mean 1, standard error 1, distances -1, -1, 2.

    g = sqrt(6) * 2 / 2^(3/2) = sqrt(3). The upper end lies above the mean by
    q + 2.5 sqrt(3) / (6 sqrt(3)) (2 z^2 + 1) = q + 2.5 (2 z^2 + 1) / 6 = 7.921, with q = 4.3026527
    and z = 1.9599640.
    """
    q, z = 4.3026527, 1.9599640
    farther = q + 2.5 * (2 * z**2 + 1) / 6
    found = paired_difference(seeds(0.0, 0.0, 3.0), seeds(0.0, 0.0, 0.0))
    assert found.skewness == pytest.approx(math.sqrt(3))
    assert (found.low, found.high) == pytest.approx((1 - q, 1 + farther))
    assert farther == pytest.approx(7.921, abs=1e-3)
    turned = paired_difference(seeds(0.0, 0.0, 0.0), seeds(0.0, 0.0, 3.0))
    assert (turned.low, turned.high) == pytest.approx((-1 - farther, -1 + q))


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.998])
@pytest.mark.parametrize("scale", [1e-3, 1.0, -50.0])
def test_a_value_is_rejected_exactly_outside_the_interval(confidence: float, scale: float) -> None:
    values = scale * np.random.default_rng(4).exponential(size=(9, 1))
    found = over_draws(values.tolist())
    low, high = found.interval(confidence)
    step = 1e-6 * (high - low)
    assert low <= found.mean <= high
    for outside, inside in ((low - step, low + step), (high + step, high - step)):
        assert found.p_of(outside) < 1 - confidence < found.p_of(inside)
    assert found.p_of(low) == pytest.approx(1 - confidence)
    assert found.p_of(high) == pytest.approx(1 - confidence)


def test_intervals_of_higher_levels_hold_those_of_lower_ones() -> None:
    found = over_draws([[0.1], [0.2], [0.25], [3.0]])
    ends = [found.interval(level) for level in (0.5, 0.8, 0.95, 0.99, 0.9999, 1 - 1e-12)]
    assert all(wide[0] < low and high < wide[1] for (low, high), wide in zip(ends, ends[1:]))


def test_no_variance_between_draws_weighs_by_seeds() -> None:
    """Draw means are 0 and 0.1, seeds within a draw far apart: tau^2 = 0, weights 2 and 4."""
    found = over_draws([[-5, 5], [-4.9, 5.1, -4.9, 5.1]])
    assert found.mean == pytest.approx(4 / 6 * 0.1)


def test_other_levels_and_other_values() -> None:
    """Mean 2, standard error 1, 1 degree of freedom (Cauchy): P(T > x) = 1/2 - atan(x) / pi."""
    found = paired_difference(seeds(1.0, 4.0), seeds(0.0, 1.0))
    # t(0.75; 1) = 1.
    assert found.interval(0.5) == pytest.approx((1.0, 3.0))
    assert found.p_of(1.0) == found.p_of(3.0) == pytest.approx(0.5)
    assert found.p_of(2.0) == pytest.approx(1.0)


def test_takes_common_pairs_only_whatever_their_order() -> None:
    a = {Pair(0, 3): 1.0, Pair(0, 0): 2.0, Pair(0, 7): 100.0, Pair(1, 0): 9.0}
    b = {Pair(0, 0): 1.5, Pair(0, 3): 0.0, Pair(0, 5): -100.0, Pair(2, 0): 9.0}
    expected = paired_difference(seeds(2.0, 1.0), seeds(1.5, 0.0))
    assert numbers(paired_difference(a, b)) == numbers(expected)
    assert paired_difference(a, b).num_draws == 1


def test_equal_differences() -> None:
    same = paired_difference(seeds(0.5, 0.7), seeds(0.5, 0.7))
    assert numbers(same) == (0, 0, 0, 1)
    assert numbers(paired_difference(seeds(2, 3), seeds(1, 2))) == (1, 1, 1, 0)
    assert numbers(over_draws([[1, 1], [1], [1]])) == (1, 1, 1, 0)
    assert numbers(over_draws([[0], [0]])) == (0, 0, 0, 1)
    assert over_draws([[1], [1]]).p_of(0.5) == 0


@pytest.mark.parametrize("draw", [0, 1])
def test_a_diverged_run_leaves_no_mean(draw: int) -> None:
    a = {Pair(draw, 0): math.inf, Pair(0, 1): 1.0, Pair(0, 2): 1.0}
    found = paired_difference(a, {Pair(draw, 0): 1.0, Pair(0, 1): 2.0, Pair(0, 2): 0.0})
    assert all(math.isnan(x) for x in (found.mean, found.low, found.high, found.standard_error))
    assert math.isnan(found.p_of(0)) and all(map(math.isnan, found.interval(0.9)))
    assert (found.num_pairs, found.num_diverged) == (3, 1)


def test_the_sign_test_takes_diverged_runs_in() -> None:
    """Losses of 12 draws: A is lower in 10, infinite in 2. P(Bin(12, 1/2) >= 10) = 79 / 4096."""
    a = {Pair(i, 0): math.inf if i < 2 else 0.5 for i in range(12)}
    found = paired_difference(a, dict.fromkeys(a, 1.0))
    assert (found.num_above, found.num_below, found.num_diverged) == (2, 10, 2)
    assert found.p_value == pytest.approx(2 * 79 / 4096)
    assert not found.is_above
    # B diverges in four draws: 10 draws are still below, and the 2 shared ones are ties.
    both = paired_difference(a, {pair: math.inf if pair.draw < 4 else 1.0 for pair in a})
    assert (both.num_above, both.num_below, both.num_diverged) == (0, 10, 4)
    assert both.p_value == pytest.approx(2 * 79 / 4096)
    nothing = paired_difference(a, a)
    assert (nothing.num_above, nothing.num_below, nothing.p_value) == (0, 0, 1)


def test_the_sign_test_is_over_draws() -> None:
    """Seeds of one draw count as one sign; with a single draw the test is over its seeds."""
    a = {Pair(i, j): 2.0 for i in range(3) for j in range(4)}
    b = {**dict.fromkeys(a, 1.0), Pair(0, 0): -math.inf}
    found = paired_difference(a, b)
    assert (found.num_above, found.num_below, found.p_value) == (3, 0, 2 / 8)
    one = paired_difference(seeds(2.0, 2.0, 2.0), seeds(1.0, 1.0, -math.inf))
    assert (one.num_above, one.is_above, one.p_value) == (3, True, 2 / 8)


def test_too_few_pairs() -> None:
    with pytest.raises(ValueError, match="1 common pairs"):
        paired_difference({Pair(0, 0): 1.0, Pair(1, 0): 2.0}, {Pair(1, 0): 1.0, Pair(1, 1): 1.0})


@pytest.mark.parametrize(
    ("difference", "spread", "paired", "number"),
    [
        (1.0, 1.0, True, 10),
        (-0.5, 1.0, True, 34),
        (0.5, 1.0, False, 64),
        (0.8, 1.0, False, 26),
        (1.0, 0.0, True, 3),
        (1e-9, 1.0, True, 10_000),
    ],
)
def test_numbers(difference: float, spread: float, paired: bool, number: int) -> None:
    assert seeds_needed(difference, spread, paired=paired) == number


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
