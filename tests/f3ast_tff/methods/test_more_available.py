"""More available: who counts, and with what weight."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.methods.parts.availability_knowledge import (
    AvailabilityPrior,
    EstimatedAvailability,
    KnownAvailability,
)
from f3ast_tff.methods.parts.constraint import RoundConstraint
from f3ast_tff.methods.parts.strategy import Round, cohort_of
from f3ast_tff.methods.unbiased import MoreAvailable

P = np.array([0.4, 0.3, 0.3])


def test_only_the_more_available_take_part() -> None:
    strategy = MoreAvailable(P, KnownAvailability(np.array([0.9, 0.1, 0.5])))
    cohort = cohort_of(strategy, Round(1, np.ones(3, bool), RoundConstraint(3)))
    assert cohort.ids.tolist() == [0, 2]
    np.testing.assert_allclose(cohort.weights, [0.4 / 0.9, 0.6])
    assert (
        len(cohort_of(strategy, Round(2, np.array([False, True, False]), RoundConstraint(3)))) == 0
    )


def test_k_limits_those_that_count_and_scales_by_them() -> None:
    strategy = MoreAvailable(P, KnownAvailability(np.array([0.9, 0.1, 0.5])))
    for t in range(1, 20):
        cohort = cohort_of(strategy, Round(t, np.ones(3, bool), RoundConstraint(1)))
        assert len(cohort) == 1
        assert cohort.ids[0] != 1
        np.testing.assert_allclose(cohort.weights, 2 * [0.4 / 0.9, 0, 0.6][cohort.ids[0]])


def test_estimates_may_change_sides() -> None:
    """Available in round 1, then absent twice: pi = 2 / 3, 2 / 4, 2 / 5, and 3 / 6 when back."""
    strategy = MoreAvailable(P, EstimatedAvailability(AvailabilityPrior.uniform(3)), least_pi=0.6)
    one = np.array([True, False, False])
    assert cohort_of(strategy, Round(1, one, RoundConstraint(3))).ids.tolist() == [0]
    cohort_of(strategy, Round(2, ~one, RoundConstraint(3)))
    cohort_of(strategy, Round(3, ~one, RoundConstraint(3)))
    assert len(cohort_of(strategy, Round(4, one, RoundConstraint(3)))) == 0


def test_bad_values() -> None:
    rare = KnownAvailability(np.full(3, 0.2))
    with pytest.raises(ParameterError, match="more_available_pi = 0.5: no client is available so"):
        MoreAvailable(P, rare)
    for least in (0.0, 1.5):
        with pytest.raises(ParameterError, match="must be above 0 and at most 1"):
            MoreAvailable(P, rare, least_pi=least)
