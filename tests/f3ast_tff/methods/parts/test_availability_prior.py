"""Beta priors of the clients' activity."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from f3ast_tff.methods.parts.availability_knowledge import AvailabilityPrior, EstimatedAvailability


def test_a_history_is_counted() -> None:
    """One client: on, on, off, on. On 3 of 4 rounds; on-on 1, on-off 1, off-on 1, off-off 0."""
    history = np.array([[True], [True], [False], [True]])
    prior = AvailabilityPrior.uniform(1).after(history)
    assert (prior.active[0], prior.inactive[0]) == (4, 2)
    assert (prior.stayed_active[0], prior.left_active[0]) == (2, 2)
    assert (prior.stayed_inactive[0], prior.left_inactive[0]) == (1, 2)


@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_history_in_the_prior_is_history_observed(seed: int, rounds: int) -> None:
    history = np.random.default_rng(seed).random((rounds, 3)) < 0.5
    uniform = AvailabilityPrior.uniform(3)
    before = EstimatedAvailability(uniform.after(history))
    observed = EstimatedAvailability(uniform)
    for t, mask in enumerate(history, start=1):
        observed = observed.after(t, mask)
    np.testing.assert_array_equal(before.pi, observed.pi)
    np.testing.assert_array_equal(before.eigenvalue, observed.eigenvalue)


def test_the_released_prior_starts_from_the_truth() -> None:
    """pi = 0.1, lambda = 0.9: p_1 = 0.9 + 0.1 * 0.1 = 0.91, p_0 = 1 - 0.01; 100 rounds of each."""
    pi, eigenvalue = np.array([0.1, 0.9]), np.array([0.9, -0.1])
    prior = AvailabilityPrior.from_chain(pi, eigenvalue, 100)
    np.testing.assert_allclose([prior.stayed_active[0], prior.stayed_inactive[0]], [91, 99])
    activity = EstimatedAvailability(prior)
    np.testing.assert_allclose(activity.pi, pi)
    np.testing.assert_allclose(activity.eigenvalue, eigenvalue)


def test_bad_values() -> None:
    one = np.ones(2)
    with pytest.raises(ValueError, match=r"inactive\[1\] = 0.0: must be above 0"):
        AvailabilityPrior(one, np.array([1.0, 0.0]), one, one, one, one)
    with pytest.raises(ValueError, match="left_inactive has shape"):
        AvailabilityPrior(one, one, one, one, one, np.ones(3))
    with pytest.raises(ValueError, match=r"inactive\[0\]"):
        AvailabilityPrior.from_chain(np.array([1.0]), np.array([0.0]), 100)
    with pytest.raises(ValueError, match=r"must be \[T, N\]"):
        AvailabilityPrior.uniform(2).after(np.ones(2, bool))
    with pytest.raises(ValueError, match=r"must be bool \[2\]"):
        AvailabilityPrior.uniform(2).after(np.ones((4, 3), bool))
