"""Knowledge of availability: given, or estimated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from f3ast_tff.methods.parts.availability_knowledge import EstimatedAvailability, KnownAvailability

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


def test_the_ends_of_the_ranges_are_taken() -> None:
    known = KnownAvailability(np.array([0, 1]), np.array([-1, 1]))
    assert (known.pi.tolist(), known.eigenvalue.tolist()) == ([0.0, 1.0], [-1.0, 1.0])


def test_eigenvalues_that_were_not_given_are_an_error_where_they_are_needed() -> None:
    with pytest.raises(ValueError, match="eigenvalues of the clients' availability are not known"):
        KnownAvailability(PI).eigenvalue  # noqa: B018


def test_a_history_is_counted() -> None:
    """One client: on, on, off, on. With the prior it is on in 4 of 6 rounds.

    On-on 1, on-off 1: p_1 = 2 / 4. Off-on 1, off-off 0: p_0 = 1 / 3.
    """
    known = EstimatedAvailability(1, np.array([[True], [True], [False], [True]]))
    np.testing.assert_allclose(known.pi, 4 / 6)
    np.testing.assert_allclose(known.eigenvalue, 1 / 3 + 2 / 4 - 1)


@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_history_before_training_is_history_observed(seed: int, rounds: int) -> None:
    history = np.random.default_rng(seed).random((rounds, 3)) < 0.5
    before, after = EstimatedAvailability(3, history), observed(history)
    np.testing.assert_array_equal(before.pi, after.pi)
    np.testing.assert_array_equal(before.eigenvalue, after.eigenvalue)
    assert not before.state()["active"].any()


def observed(masks: np.ndarray) -> EstimatedAvailability:
    activity = EstimatedAvailability(masks.shape[1])
    for t, mask in enumerate(masks, start=1):
        activity = activity.after(t, mask)
    return activity


def test_the_prior_alone() -> None:
    activity = EstimatedAvailability(2)
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
    np.testing.assert_allclose(activity.pi_of_chain, 5 / 9)


def test_a_round_left_out_is_no_transition() -> None:
    activity = EstimatedAvailability(1)
    on = np.array([True])
    for t in (1, 2, 4):
        activity = activity.after(t, on)
    np.testing.assert_allclose(activity.pi, 4 / 5)
    np.testing.assert_allclose(activity.eigenvalue, 2 / 3 + 1 / 2 - 1)


def test_a_round_counts_once() -> None:
    activity = EstimatedAvailability(1)
    activity = activity.after(3, np.array([True]))
    for t in (3, 2):
        with pytest.raises(ValueError, match=f"round {t}: round 3 was already observed"):
            activity = activity.after(t, np.array([True]))


def test_the_mask_is_not_kept() -> None:
    mask = np.array([True])
    activity = EstimatedAvailability(1)
    activity = activity.after(1, mask)
    mask[0] = False
    activity = activity.after(2, mask)
    np.testing.assert_allclose(activity.eigenvalue, 1 / 3 + 1 / 2 - 1)


ONE = np.ones(2)
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
    (lambda: EstimatedAvailability(2, np.ones((4, 3), bool)), r"must be bool \[2\]"),
    (lambda: EstimatedAvailability(2).after(1, np.ones(3, bool)), r"must be bool \[2\]"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED)
def test_bad_values_and_masks_are_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
