"""H(r) of eq. (3) and its gradient."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from f3ast_tff.methods.parts.rates import (
    OBJECTIVES,
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


def test_unknown_objective_is_refused_and_the_known_are_named() -> None:
    with pytest.raises(ValueError, match="'p_cubed'.*p_squared, p"):
        marginal_utility(R, P, "p_cubed")
    with pytest.raises(ValueError, match="'p_cubed'"):
        root_numerators(P, "p_cubed")


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
