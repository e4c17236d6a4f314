"""Knowledge of availability: given, or estimated from a prior."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from f3ast_tff.methods.parts.availability_knowledge import (
    AvailabilityPrior,
    EstimatedAvailability,
    KnownAvailability,
)

PI, EIGENVALUE = np.array([0.9, 0.1]), np.array([0.9, -0.05])


def test_observing_changes_nothing() -> None:
    activity = KnownAvailability(PI, EIGENVALUE)
    activity = activity.after(1, np.array([False, True]))
    assert activity.pi.tolist() == [0.9, 0.1]
    assert activity.eigenvalue.tolist() == [0.9, -0.05]
    assert activity.state() == {}
    activity.restore({})


def test_what_it_tells_is_its_own_and_read_only() -> None:
    pi = PI.copy()
    activity = KnownAvailability(pi)
    pi[0] = 0.2
    assert activity.pi[0] == 0.9
    with pytest.raises(ValueError, match="read-only"):
        activity.pi[0] = 0.2


def test_eigenvalues_that_were_not_given_are_an_error_where_they_are_needed() -> None:
    with pytest.raises(ValueError, match="eigenvalues of the clients' availability are not known"):
        KnownAvailability(PI).eigenvalue  # noqa: B018


def test_a_history_is_counted() -> None:
    """One client: on, on, off, on.

    It is on in 3 of 4 rounds; on-on 1, on-off 1, off-on 1, off-off 0.
    """
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


def observed(masks: np.ndarray, **kwargs: str) -> EstimatedAvailability:
    activity = EstimatedAvailability(AvailabilityPrior.uniform(masks.shape[1]), **kwargs)
    for t, mask in enumerate(masks, start=1):
        activity = activity.after(t, mask)
    return activity


def test_the_prior_alone() -> None:
    activity = EstimatedAvailability(AvailabilityPrior.uniform(2))
    assert activity.pi.tolist() == [0.5, 0.5]
    assert activity.eigenvalue.tolist() == [0, 0]


def test_by_hand() -> None:
    """On, on, on, off: pi = (3 + 1) / (4 + 2); p_1 = (2 + 1) / (3 + 2); p_0 = 1 / 2 (never left).

    lambda = 0.6 + 0.5 - 1. By the chain, eq. (237), pi = 0.5 / (2 - 1.1) = 5 / 9.
    """
    masks = np.array([[True], [True], [True], [False]])
    activity = observed(masks)
    np.testing.assert_allclose(activity.pi, 2 / 3)
    np.testing.assert_allclose(activity.eigenvalue, 0.1)
    np.testing.assert_allclose(observed(masks, availability_from="chain").pi, 5 / 9)


def test_a_round_left_out_is_no_transition() -> None:
    activity = EstimatedAvailability(AvailabilityPrior.uniform(1))
    on = np.array([True])
    for t in (1, 2, 4):
        activity = activity.after(t, on)
    np.testing.assert_allclose(activity.pi, 4 / 5)
    np.testing.assert_allclose(activity.eigenvalue, 2 / 3 + 1 / 2 - 1)


def test_a_round_counts_once() -> None:
    activity = EstimatedAvailability(AvailabilityPrior.uniform(1))
    activity = activity.after(3, np.array([True]))
    for t in (3, 2):
        with pytest.raises(ValueError, match=f"round {t}: round 3 was already observed"):
            activity = activity.after(t, np.array([True]))


def test_the_mask_is_not_kept() -> None:
    mask = np.array([True])
    activity = EstimatedAvailability(AvailabilityPrior.uniform(1))
    activity = activity.after(1, mask)
    mask[0] = False
    activity = activity.after(2, mask)
    np.testing.assert_allclose(activity.eigenvalue, 1 / 3 + 1 / 2 - 1)


@given(st.integers(0, 2**32 - 1), st.integers(1, 15))
def test_per_round_is_the_released_estimator(seed: int, rounds: int) -> None:
    """Active-active and inactive-inactive counts over t + 100; before round 1 all are inactive."""
    rng = np.random.default_rng(seed)
    pi, eigenvalue = rng.uniform(0.2, 0.8, 4), rng.uniform(0, 0.9, 4)
    masks = rng.random((rounds, 4)) < pi
    activity = EstimatedAvailability(
        AvailabilityPrior.from_chain(pi, eigenvalue, 100), transitions_per="round"
    )
    both_active, both_inactive, before = np.zeros(4), np.zeros(4), np.zeros(4, bool)
    for t, mask in enumerate(masks, start=1):
        activity = activity.after(t, mask)
        both_active += before & mask
        both_inactive += ~(before | mask)
        before = mask
        stays_active = (both_active + 100 * (pi + eigenvalue - eigenvalue * pi)) / (t + 100)
        stays_inactive = (both_inactive + 100 * (1 - pi + eigenvalue * pi)) / (t + 100)
        np.testing.assert_allclose(
            activity.eigenvalue, stays_active + stays_inactive - 1, atol=1e-12
        )


ONE = np.ones(2)
TWO_ALIKE = AvailabilityPrior.uniform(2)
REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: KnownAvailability(np.array([0.5, 1.5])), r"pi\[1\] = 1.5: must be in \[0, 1\]"),
    (lambda: KnownAvailability(np.array([0.5, np.nan])), r"pi\[1\] = nan"),
    (lambda: KnownAvailability(np.array([[0.5]])), r"must be \[N\]"),
    (
        lambda: KnownAvailability(PI, np.array([0.0, -1.5])),
        r"eigenvalue\[1\] = -1.5: must be in \[-1, 1\]",
    ),
    (lambda: KnownAvailability(PI, np.array([0.0])), "eigenvalue has shape"),
    (lambda: KnownAvailability(PI).after(1, np.ones(3, bool)), r"must be bool \[2\]"),
    (lambda: KnownAvailability(PI).after(1, ONE), r"must be bool \[2\]"),
    (lambda: KnownAvailability(PI).restore({"pi": PI}), "unexpected"),
    (lambda: TWO_ALIKE.after(np.ones((4, 3), bool)), r"must be bool \[2\]"),
    (lambda: EstimatedAvailability(TWO_ALIKE).after(1, np.ones(3, bool)), r"must be bool \[2\]"),
    (
        lambda: EstimatedAvailability(TWO_ALIKE).restore({}),
        "saved availability lack .*last_round",
    ),
    (
        lambda: EstimatedAvailability(TWO_ALIKE).restore(
            EstimatedAvailability(AvailabilityPrior.uniform(3)).state()
        ),
        "saved last_mask has shape",
    ),
]


@pytest.mark.parametrize(("make", "message"), REFUSED)
def test_bad_values_masks_and_states_are_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
