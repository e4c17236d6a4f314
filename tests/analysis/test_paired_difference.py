from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from f3ast_tff.analysis.paired_difference import PairedDifference, paired_difference


# SciPy's own, with the NumPy that is locked.
@pytest.mark.filterwarnings("ignore:np.find_common_type:DeprecationWarning")
@pytest.mark.parametrize("num_seeds", [2, 3, 10])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_agrees_with_scipy(num_seeds: int, confidence: float) -> None:
    random = np.random.default_rng(num_seeds)
    a = dict(enumerate(random.normal(0.8, 0.1, num_seeds)))
    b = dict(enumerate(random.normal(0.7, 0.1, num_seeds)))
    found = paired_difference(a, b, confidence)
    difference = np.array([a[seed] - b[seed] for seed in a])
    low, high = stats.t.interval(
        confidence, num_seeds - 1, loc=difference.mean(), scale=stats.sem(difference)
    )
    test = stats.ttest_rel(list(a.values()), list(b.values()))
    expected = (difference.mean(), low, high, test.pvalue)
    assert (found.mean, found.low, found.high, found.p_value) == pytest.approx(expected, rel=1e-9)
    assert found.num_seeds == num_seeds


def test_by_hand() -> None:
    """Differences 1, 3: mean 2, standard error 1; t(0.975; 1) = 12.7062; p = 2 atan(1/2) / pi."""
    found = paired_difference({0: 1.0, 1: 4.0}, {0: 0.0, 1: 1.0})
    expected = (2.0, 2 - 12.7062047, 2 + 12.7062047, 2 * math.atan(0.5) / math.pi)
    assert (found.mean, found.low, found.high, found.p_value) == pytest.approx(expected)


def test_takes_common_seeds_only_whatever_their_order() -> None:
    a = {3: 1.0, 0: 2.0, 7: 100.0}
    b = {0: 1.5, 3: 0.0, 5: -100.0}
    assert paired_difference(a, b) == paired_difference({0: 2.0, 3: 1.0}, {0: 1.5, 3: 0.0})


def test_equal_differences() -> None:
    assert paired_difference({0: 0.5, 1: 0.7}, {0: 0.5, 1: 0.7}) == PairedDifference(0, 0, 0, 1, 2)
    assert paired_difference({0: 2, 1: 3}, {0: 1, 1: 2}) == PairedDifference(1, 1, 1, 0, 2)


def test_a_diverged_run_leaves_no_number() -> None:
    found = paired_difference({0: math.inf, 1: 1.0, 2: 1.0}, {0: 1.0, 1: 2.0, 2: 0.0})
    assert all(math.isnan(x) for x in (found.mean, found.low, found.high, found.p_value))
    assert found.num_seeds == 3


def test_too_few_seeds() -> None:
    with pytest.raises(ValueError, match="1 common seeds"):
        paired_difference({0: 1.0, 1: 2.0}, {1: 1.0, 2: 1.0})


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0])
def test_bad_confidence(confidence: float) -> None:
    with pytest.raises(ValueError, match="confidence"):
        paired_difference({0: 1.0, 1: 2.0}, {0: 1.0, 1: 2.0}, confidence)
