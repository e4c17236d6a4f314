"""H(r) of eq. (3) and its gradient, and the tracking of participation rates, eq. (5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.rates import (
    OBJECTIVES,
    ParticipationRates,
    best_if_all_available,
    marginal_utility,
    root_numerators,
    variance_bound,
)

P = np.array([0.5, 0.3, 0.2])
R = np.array([0.5, 0.25, 1.0])


def test_bound_by_hand() -> None:
    """Sums p^2 / r = 0.25/0.5 + 0.09/0.25 + 0.04/1 and p / r = 0.5/0.5 + 0.3/0.25 + 0.2/1."""
    assert variance_bound(R, P, "p_squared") == pytest.approx(0.5 + 0.36 + 0.04)
    assert variance_bound(R, P, "p") == pytest.approx(1.0 + 1.2 + 0.2)


def test_utility_by_hand() -> None:
    """p^2 / r^2 = 0.25/0.25, 0.09/0.0625, 0.04/1; p / r^2 = 0.5/0.25, 0.3/0.0625, 0.2/1."""
    np.testing.assert_allclose(marginal_utility(R, P, "p_squared"), [1.0, 1.44, 0.04])
    np.testing.assert_allclose(marginal_utility(R, P, "p"), [2.0, 4.8, 0.2])


@given(
    st.lists(st.tuples(st.floats(0.05, 1), st.floats(0.05, 1)), min_size=1, max_size=6),
    st.sampled_from(OBJECTIVES),
)
def test_utility_is_minus_the_gradient(clients: list[tuple[float, float]], objective: str) -> None:
    """Central differences of step h deviate by h^2 H''' / 6 = h^2 c / r^4, a share (h / r)^2.

    With r at least 0.05 and h = 1e-5 that share is 4e-8; rounding adds about 1e-16 H / h.
    """
    r, p = np.array(clients).T
    step = 1e-5
    for k, utility in enumerate(marginal_utility(r, p, objective)):
        nudge = step * (np.arange(len(r)) == k)
        above = variance_bound(r + nudge, p, objective)
        below = variance_bound(r - nudge, p, objective)
        assert utility == pytest.approx(-(above - below) / (2 * step), rel=1e-6, abs=1e-7)


@given(
    st.lists(st.tuples(st.floats(1e-3, 1), st.floats(1e-3, 1)), min_size=1, max_size=9),
    st.sampled_from(OBJECTIVES),
    st.floats(1e-6, 1e6),
)
def test_roots_over_rates_order_as_the_utility_does(
    clients: list[tuple[float, float]], objective: str, factor: float
) -> None:
    """For any unit of the rates, except pairs closer than rounding."""
    r, p = np.array(clients).T
    roots = root_numerators(p, objective)
    utility, order = marginal_utility(r, p, objective), roots / (factor * r)
    apart = utility[:, None] > utility * (1 + 1e-12)
    assert np.all((order[:, None] > order)[apart])


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_all_tie_where_h_is_least(objective: str) -> None:
    """Exactly: otherwise rounding, the same for all seeds, would decide the first client."""
    p = np.random.default_rng(0).dirichlet(np.full(700, 2.0))
    rates, _ = best_if_all_available(p, 10, objective)
    assert len(np.unique(root_numerators(p, objective) / rates)) == 1


def test_best_rates_if_all_are_available_by_hand() -> None:
    """K = 2 of shares .6, .3, .1: 2 p would be 1.2, so it is 1, and .3 and .1 share the other pick.

    For H = sum p / r, rates are proportional to sqrt(p): (3, 2, 1, 1) of 7 for shares (9, 4, 1, 1)
    of 15, times K = 1.
    """
    rates, scale = best_if_all_available(np.array([0.6, 0.3, 0.1]), 2, "p_squared")
    np.testing.assert_allclose(rates * scale, [1, 0.75, 0.25], rtol=1e-15)
    rates, scale = best_if_all_available(np.array([9, 4, 1, 1]) / 15, 1, "p")
    np.testing.assert_allclose(rates * scale, np.array([3, 2, 1, 1]) / 7, rtol=1e-15)
    rates, scale = best_if_all_available(P, 3, "p")
    assert (rates * scale).tolist() == [1, 1, 1]


@given(
    st.lists(st.floats(1e-6, 1), min_size=1, max_size=12),
    st.floats(0.1, 14),
    st.sampled_from(OBJECTIVES),
)
def test_best_rates_if_all_are_available_are_the_least_of_h(
    shares: list[float], k: float, objective: str
) -> None:
    """Conditions of a minimum: -dH/dr is equal below 1, and larger at 1; the sum is K."""
    p = np.array(shares) / np.sum(shares)
    rates, scale = best_if_all_available(p, k, objective)
    r = rates * scale
    assert np.all(r > 0) and np.all(r <= 1 + 1e-15)
    assert r.sum() == pytest.approx(min(k, len(p)))
    utility, below = marginal_utility(r, p, objective), r < 1 - 1e-12
    if below.any():
        np.testing.assert_allclose(utility[below], utility[below][0], rtol=1e-9)
        assert np.all(utility[~below] >= utility[below][0] * (1 - 1e-9))


def test_one_round_by_hand() -> None:
    """Absent clients get (1 - 0.1) 0.5 = 0.45; participants get 0.1 more."""
    rates = ParticipationRates(np.array([0.5, 0.5, 1.0]), beta=0.1)
    rates.update(np.array([1, 2]))
    np.testing.assert_allclose(rates.values, [0.45, 0.55, 1.0])


def test_empty_round_decays_every_rate() -> None:
    rates = ParticipationRates(np.array([0.5, 1.0]), beta=0.1)
    rates.update(np.zeros(0, np.int64))
    np.testing.assert_allclose(rates.values, [0.45, 0.9])


@given(
    st.lists(st.floats(1e-6, 1), min_size=3, max_size=3),
    st.floats(1e-9, 0.999),
    st.lists(st.sets(st.integers(0, 2)), max_size=60),
)
def test_rates_stay_above_0_and_at_most_1(
    initial: list[float], beta: float, cohorts: list[set[int]]
) -> None:
    """Without participation a rate is at least 1e-6 * 0.001^60 = 1e-186, which float64 holds."""
    rates = ParticipationRates(np.array(initial), beta)
    for cohort in cohorts:
        rates.update(np.array(sorted(cohort), np.int64))
        assert np.all(rates.values > 0)
        assert np.all(rates.values <= 1)


@pytest.mark.parametrize(
    ("function", "given", "says"),
    [
        (marginal_utility, (R, P, "p_cubed"), "'p_cubed'.*p_squared, p"),
        (root_numerators, (P, "p_cubed"), "'p_cubed'"),
        *(
            (ParticipationRates, (np.array([0.5]), beta), r"beta.*must be in \(0, 1\)")
            for beta in (0.0, 1.0, 2.0, -0.1, np.nan, np.inf)
        ),
        *(
            (ParticipationRates, (np.array([0.5, rate]), 0.1), r"initial rates must be in \(0, 1\]")
            for rate in (0.0, -0.1, 1.1, np.nan)
        ),
    ],
)
def test_refused(function: Callable[..., Any], given: tuple[Any, ...], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        function(*given)


@pytest.mark.parametrize("falling", [False, True])
@pytest.mark.parametrize(
    ("beta", "rounds"),
    [(0.9, 300), (0.1, 2000), pytest.param(1e-3, 30_000, marks=pytest.mark.long)],
)
def test_lazy_decay_equals_the_recursion(beta: float, rounds: int, falling: bool) -> None:
    """Eq. (5) for each client in each round, with step beta or max(1 / t, beta).

    The rounds pass a scale of 2^-64 (44 / beta rounds) several times, or come near it. Both sides
    round, the recursion in every round: 30,000 rounds of 1e-16 are at worst 3e-12, and far less on
    average. A client that is never selected falls to 0.1^300, below the floor of 1e-150.
    """
    rng = np.random.default_rng(1)
    initial = rng.uniform(0.01, 1, 6)
    rates, expected = ParticipationRates(initial, beta, falling=falling), initial.copy()
    for t in range(1, rounds + 1):
        ids = np.flatnonzero(rng.random(6) < [0, 0.01, 0.1, 0.5, 0.9, 1])
        step = max(1 / t, beta) if falling else beta
        expected *= 1 - step
        expected[ids] += step
        rates.update(ids)
    assert not falling or rates.values[0] == 1e-150
    rtol = 1e-11 if falling else 1e-12
    np.testing.assert_allclose(rates.values, np.maximum(expected, 1e-150), rtol=rtol)
    np.testing.assert_array_equal(rates.at(np.array([4, 1])), rates.values[[4, 1]])


def test_shares_of_clusters_stand_for_the_one() -> None:
    """0.9 * 0.5 + 0.1 / 4 = 0.475 and 0.9 * 0.5 + 0.1 / 2 = 0.5; falling, 1/4, (1/4 + 1/2) / 2."""
    rates = ParticipationRates(np.array([0.5, 0.5, 0.5]), beta=0.1)
    rates.update(np.array([0, 2]), np.array([0.25, 0.5]))
    np.testing.assert_allclose(rates.values, [0.475, 0.45, 0.5])
    rates = ParticipationRates(np.array([0.5, 0.5]), beta=0.1, falling=True)
    for share, expected in ((0.25, 0.25), (0.5, 0.375)):
        rates.update(np.array([0]), share)
        np.testing.assert_array_equal(rates.values, [expected, 1e-150])


@pytest.mark.parametrize("falling", [False, True])
def test_a_scale_is_a_factor_of_the_first_rates(falling: bool) -> None:
    """Rates scaled to r(0) = 10 p equal plain rates from there; absent clients tie in p / r."""
    p = np.array([0.1, 0.013, 0.029, 0.003])
    scaled = ParticipationRates(p, 0.01, falling=falling, scale=10.0)
    plain = ParticipationRates(10 * p, 0.01, falling=falling)
    np.testing.assert_allclose(scaled.values, 10 * p, rtol=1e-15)
    if not falling:
        for _ in range(5):
            scaled.update(np.array([0]))
            plain.update(np.array([0]))
        assert len(set((p / scaled.unscaled)[1:])) == 1
    for k in range(4):
        scaled.update(np.array([k]))
        plain.update(np.array([k]))
        np.testing.assert_allclose(scaled.values, plain.values, rtol=1e-14)
    with pytest.raises(ValueError, match=r"initial rates must be in \(0, 1\]"):
        ParticipationRates(p, 0.01, scale=10.1)


def test_falling_step_counts_rounds_before_beta() -> None:
    """Until 1 / t reaches beta = 1/50, rates are observed frequencies; equal counts tie exactly."""
    took_part = np.random.default_rng(3).random((50, 40)) < 0.3
    rates = ParticipationRates(np.full(40, 0.5), beta=0.02, falling=True)
    for t, mask in enumerate(took_part[:49], start=1):
        rates.update(np.flatnonzero(mask))
        counts = took_part[:t].sum(axis=0)
        np.testing.assert_allclose(rates.values, np.maximum(counts / t, 1e-150), rtol=1e-15)
        assert len(np.unique(rates.unscaled)) == len(np.unique(counts))


def test_falling_step_ends_at_beta() -> None:
    """beta = 1/4: client 0 in rounds 1 to 4 has 1; absent then, 3/4 and 9/16, not 4/5 and 4/6."""
    rates = ParticipationRates(np.array([0.5, 0.5]), beta=0.25, falling=True)
    for _ in range(4):
        rates.update(np.array([0]))
    for expected in ([0.75, 0.25], [0.5625, 0.4375]):
        rates.update(np.array([1]))
        np.testing.assert_allclose(rates.values, expected)


def test_a_rate_above_1_by_rounding_is_1() -> None:
    assert ParticipationRates(np.nextafter([1.0], 2), beta=0.1).values.tolist() == [1.0]


def test_unscaled_rates_are_proportional_to_rates() -> None:
    rates = ParticipationRates(np.array([0.5, 0.25, 1.0]), beta=0.3)
    for t in range(200):
        rates.update(np.array([t % 3]))
    ratio = rates.unscaled / rates.values
    np.testing.assert_allclose(ratio, ratio[0])
    with pytest.raises(ValueError, match="read-only"):
        rates.unscaled[0] = 1.0


@pytest.mark.parametrize("falling", [False, True])
@pytest.mark.parametrize(("beta", "stop"), [(0.2, 123), (0.005, 123), (0.2, 0)])
def test_restored_rates_go_on_bit_for_bit(beta: float, stop: int, falling: bool) -> None:
    """Saved in the middle, with a scale that is no power of two, and across a change of scale.

    A falling step is saved after it reached beta, before it does, and before round 1.
    """
    rng = np.random.default_rng(2)
    initial = rng.uniform(0.1, 1, 5)
    cohorts = [np.flatnonzero(rng.random(5) < 0.3) for _ in range(400)]
    whole = ParticipationRates(initial, beta, falling=falling)
    for ids in cohorts:
        whole.update(ids)
    stopped = ParticipationRates(initial, beta, falling=falling)
    resumed = ParticipationRates(np.ones(5), beta, falling=falling)
    for ids in cohorts[:stop]:
        stopped.update(ids)
    resumed.restore(stopped.state())
    for ids in cohorts[stop:]:
        resumed.update(ids)
    for name, saved in whole.state().items():
        np.testing.assert_array_equal(resumed.state()[name], saved)


def test_the_callers_arrays_are_left_alone() -> None:
    initial = np.array([0.5, 0.5])
    rates = ParticipationRates(initial, beta=0.1)
    saved = rates.state()
    rates.restore(saved)
    rates.update(np.array([0]))
    assert initial.tolist() == [0.5, 0.5]
    assert saved["rates"].tolist() == saved["unscaled_rates"].tolist() == [0.5, 0.5]
    assert saved["rate_scale"] == 1
    assert set(saved) == {"rates", "unscaled_rates", "rate_scale"}
    falling = ParticipationRates(initial, beta=0.1, falling=True).state()
    assert set(falling) == {*saved, "rate_updates"}
    values = rates.values
    rates.update(np.array([0]))
    np.testing.assert_allclose(values, [0.55, 0.45])


@pytest.mark.parametrize("falling", [False, True])
def test_clients_that_join_start_at_their_rate(falling: bool) -> None:
    """Client 1 joins after 5 rounds at 0.3, other rates stay; later rounds treat all alike.

    With a falling step the rate is then 0.3 x 5 / t plus the client's share of selections.
    """
    rates = ParticipationRates(np.array([0.5, 0.5]), 0.05, falling=falling)
    for _ in range(5):
        rates.update(np.array([0]))
    before = rates.values
    stay, rates = rates, rates.started(np.array([1]), 0.3)
    np.testing.assert_array_equal(stay.values, before)
    np.testing.assert_allclose(rates.values, [before[0], 0.3])
    rates.update(np.array([1]))
    step = 1 / 6 if falling else 0.05
    np.testing.assert_allclose(rates.values[1], 0.3 * (1 - step) + step)


@pytest.mark.parametrize(
    ("clients", "rate", "told"),
    [
        ([1], 0.0, r"initial_rate = 0.0: must be in \(0, 1\]"),
        ([1], 1.5, r"initial_rate = 1.5: must be in \(0, 1\]"),
        ([0, 2], 0.5, r"joined = \[0 2\]: must be clients, 0 .. 1"),
        ([-1], 0.5, r"joined = \[-1\]: must be clients, 0 .. 1"),
    ],
)
def test_joining_clients_and_their_rate_are_checked(
    clients: list[int], rate: float, told: str
) -> None:
    rates = ParticipationRates(np.array([0.5, 0.5]), 0.05)
    with pytest.raises(ParameterError, match=told):
        rates.started(np.array(clients), rate)
    assert rates.started(np.array([1]), 1.0).values.tolist() == [0.5, 1.0]


def test_whole_first_rates_and_single_precision_shares_are_computed_in_double() -> None:
    """1 - 0.1 = 0.9 for the absent client; 1 of 3 equal shares is the rate, to double precision."""
    rates = ParticipationRates(np.array([1, 1]), beta=0.1, scale=1)
    rates.update(np.array([0]))
    np.testing.assert_allclose(rates.values, [1.0, 0.9])
    best, scale = best_if_all_available(np.ones(3, np.float32), 1, "p")
    np.testing.assert_allclose(best * scale, np.full(3, 1 / 3), rtol=1e-15)


def test_a_client_long_absent_keeps_an_order_above_0() -> None:
    """0.5 x 0.1^1000 is no float64; at 0, p / r would be infinite."""
    rates = ParticipationRates(np.array([0.5, 0.5]), beta=0.9)
    for _ in range(1000):
        rates.update(np.array([0]))
    assert np.all(rates.unscaled >= 1e-150)
