"""Weights p / pi: of Unbiased, of more available clients only, and of AdaFed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.methods.parts.availability_knowledge import EstimatedAvailability, KnownAvailability
from f3ast_tff.methods.unbiased import AdaFed, MoreAvailable, Unbiased
from tests.f3ast_tff.methods.small_world import played

P = np.array([0.4, 0.3, 0.2, 0.1])
PI = np.array([0.5, 0.8, 0.4, 0.9])
UPDATES = np.random.default_rng(0).normal(size=(4, 5))
FULL = P @ UPDATES
ORACLE = KnownAvailability(PI)


def test_weights_are_p_over_pi() -> None:
    cohort = played(Unbiased.knowing(P, ORACLE), 1, np.array([True, False, True, True]), 4)
    assert cohort.ids.tolist() == [0, 2, 3]
    np.testing.assert_allclose(cohort.weights, [0.8, 0.5, 1 / 9])


def test_independent_clients_exactly() -> None:
    total = np.zeros(5)
    for mask in map(np.array, itertools.product([False, True], repeat=4)):
        chance = np.prod(np.where(mask, PI, 1 - PI))
        cohort = played(Unbiased.knowing(P, ORACLE), 1, mask, 4)
        total += chance * (cohort.weights @ UPDATES[cohort.ids])
    np.testing.assert_allclose(total, FULL, rtol=1e-12)


def test_estimated_pi_counts_the_round() -> None:
    """Beta(1, 1); client 0 is available in rounds 1 and 2: pi = 3 / 4, so it weighs 0.4 / 0.75."""
    strategy = Unbiased.knowing(P, EstimatedAvailability(4))
    only_0 = np.arange(4) == 0
    played(strategy, 1, only_0, 4)
    np.testing.assert_allclose(played(strategy, 2, only_0, 4).weights, [0.4 / 0.75])


def test_a_share_of_0_takes_no_part() -> None:
    strategy = Unbiased.knowing(np.array([1.0, 0.0]), KnownAvailability(np.array([0.5, 0.0])))
    assert played(strategy, 1, np.ones(2, bool), 2).ids.tolist() == [0]
    p, pi = np.array([0.5, 0.5, 0.0]), KnownAvailability(np.full(3, 0.5))
    # One of the two that count stands for both: 2 p / pi.
    for strategy in (Unbiased.knowing(p, pi), MoreAvailable.knowing(p, pi)):
        assert played(strategy, 1, np.ones(3, bool), 3).ids.tolist() == [0, 1]
        assert played(strategy, 1, np.ones(3, bool), 1).weights.tolist() == [2.0]


def test_bad_values() -> None:
    strategy = Unbiased.knowing(np.array([0.5, 0.5]), KnownAvailability(np.array([0.5, 0.0])))
    with pytest.raises(ValueError, match="stationary = 0.0: must be above 0 for client 1"):
        played(strategy, 1, np.ones(2, bool), 2)
    with pytest.raises(ValueError, match="sums to 0.9"):
        Unbiased.knowing(np.array([0.5, 0.4]), KnownAvailability(np.array([0.5, 0.5])))
    with pytest.raises(ValueError, match="shape"):
        Unbiased.knowing(np.array([1.0]), KnownAvailability(np.array([0.5, 0.5])))


SHARES = np.array([0.4, 0.3, 0.3])


def test_only_the_more_available_take_part() -> None:
    strategy = MoreAvailable.knowing(SHARES, KnownAvailability(np.array([0.9, 0.1, 0.5])))
    cohort = played(strategy, 1, np.ones(3, bool), 3)
    assert cohort.ids.tolist() == [0, 2]
    np.testing.assert_allclose(cohort.weights, [0.4 / 0.9, 0.6])
    assert len(played(strategy, 2, np.array([False, True, False]), 3)) == 0


def test_k_limits_those_that_count_and_scales_by_them() -> None:
    strategy = MoreAvailable.knowing(SHARES, KnownAvailability(np.array([0.9, 0.1, 0.5])))
    for t in range(1, 20):
        cohort = played(strategy, t, np.ones(3, bool), 1)
        assert len(cohort) == 1
        assert cohort.ids[0] != 1
        np.testing.assert_allclose(cohort.weights, 2 * [0.4 / 0.9, 0, 0.6][cohort.ids[0]])


def test_estimates_may_change_sides() -> None:
    """Available in round 1, then absent twice: pi = 2 / 3, 2 / 4, 2 / 5, and 3 / 6 when back."""
    strategy = MoreAvailable.knowing(SHARES, EstimatedAvailability(3), more_available_pi=0.6)
    one = np.array([True, False, False])
    assert played(strategy, 1, one, 3).ids.tolist() == [0]
    played(strategy, 2, ~one, 3)
    played(strategy, 3, ~one, 3)
    assert len(played(strategy, 4, one, 3)) == 0


def test_bad_values_of_more_available() -> None:
    rare = KnownAvailability(np.full(3, 0.2))
    with pytest.raises(ParameterError, match="more_available_pi = 0.5: no client is available so"):
        MoreAvailable.knowing(SHARES, rare)


def test_adafed_by_hand() -> None:
    """p / pi = 0.5 / 0.5, 0.3 / 0.2, 0.2 / 0.8 = 1, 1.5, 0.25; clients 0 and 1 have 0.4, 0.6."""
    strategy = AdaFed.knowing(
        np.array([0.5, 0.3, 0.2]), KnownAvailability(np.array([0.5, 0.2, 0.8]))
    )
    cohort = played(strategy, 1, np.array([True, True, False]), 3)
    assert cohort.ids.tolist() == [0, 1]
    np.testing.assert_allclose(cohort.weights, [0.4, 0.6])


@given(st.integers(0, 2**32 - 1), st.integers(1, 10))
def test_weights_sum_to_1_and_keep_the_ratios(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    p, pi, mask = rng.dirichlet(np.ones(8)), rng.uniform(0.05, 1, 8), rng.random(8) < 0.6
    cohort = played(AdaFed.knowing(p, KnownAvailability(pi), seed=3), 1, mask, k)
    assert len(cohort) == min(k, mask.sum())
    if len(cohort):
        assert cohort.weights.sum() == pytest.approx(1)
        share = cohort.weights / (p / pi)[cohort.ids]
        np.testing.assert_allclose(share, share[0])
