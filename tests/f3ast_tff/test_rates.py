"""Tracking of participation rates, eq. (5)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from f3ast_tff.rates import ParticipationRates


def test_one_round_by_hand() -> None:
    """(1 - 0.1) 0.5 = 0.45 for who stays away, and 0.1 more for who takes part."""
    rates = ParticipationRates(np.array([0.5, 0.5, 1.0]), beta=0.1)
    rates.update(np.array([1, 2]))
    np.testing.assert_allclose(rates.values, [0.45, 0.55, 1.0])


def test_empty_round_decays_every_rate() -> None:
    rates = ParticipationRates(np.array([0.5, 1.0]), beta=0.1)
    rates.update(np.zeros(0, np.int64))
    np.testing.assert_allclose(rates.values, [0.45, 0.9])


def test_many_rounds_are_the_exponentially_weighted_mean() -> None:
    """Unrolling eq. (5): r(T) = (1-b)^T r(0) + b sum_t (1-b)^(T-t) 1[k in S_t]."""
    beta, rounds = 0.05, 40
    took_part = np.random.default_rng(0).random((rounds, 3)) < 0.4
    rates = ParticipationRates(np.array([0.2, 0.5, 1.0]), beta)
    for mask in took_part:
        rates.update(np.flatnonzero(mask))
    ages = rounds - 1 - np.arange(rounds)
    expected = (1 - beta) ** rounds * np.array([0.2, 0.5, 1.0])
    expected += beta * ((1 - beta) ** ages) @ took_part
    np.testing.assert_allclose(rates.values, expected)


@given(
    st.lists(st.floats(1e-6, 1), min_size=3, max_size=3),
    st.floats(1e-9, 0.999),
    st.lists(st.sets(st.integers(0, 2)), max_size=60),
)
def test_rates_stay_above_0_and_at_most_1(
    initial: list[float], beta: float, cohorts: list[set[int]]
) -> None:
    """A rate never taken part is at least 1e-6 * 0.001^60 = 1e-186, which float64 holds."""
    rates = ParticipationRates(np.array(initial), beta)
    for cohort in cohorts:
        rates.update(np.array(sorted(cohort), np.int64))
        assert np.all(rates.values > 0)
        assert np.all(rates.values <= 1)


@pytest.mark.parametrize("beta", [0.0, 1.0, 2.0, -0.1, float("nan"), float("inf")])
def test_beta_outside_0_1_is_refused(beta: float) -> None:
    with pytest.raises(ValueError, match=r"beta.*must be in \(0, 1\)"):
        ParticipationRates(np.array([0.5]), beta)


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.1, float("nan")])
def test_initial_rate_outside_0_1_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match=r"initial rates must be in \(0, 1\]"):
        ParticipationRates(np.array([0.5, rate]), 0.1)


def test_values_are_a_read_only_view() -> None:
    rates = ParticipationRates(np.array([0.5, 0.5]), beta=0.1)
    view = rates.values
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1.0
    rates.update(np.array([0]))
    np.testing.assert_allclose(view, [0.55, 0.45])


def test_the_callers_arrays_are_left_alone() -> None:
    initial, saved = np.array([0.5, 0.5]), np.array([0.3, 0.4])
    rates = ParticipationRates(initial, beta=0.1)
    rates.restore(saved)
    rates.update(np.array([0]))
    assert initial.tolist() == [0.5, 0.5]
    assert saved.tolist() == [0.3, 0.4]
    np.testing.assert_allclose(rates.values, [0.37, 0.36])


def test_restored_rates_of_another_shape_are_refused() -> None:
    rates = ParticipationRates(np.array([0.5, 0.5]), beta=0.1)
    with pytest.raises(ValueError, match=r"shape \(3,\), not \(2,\)"):
        rates.restore(np.ones(3))
