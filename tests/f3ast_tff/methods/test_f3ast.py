"""F3AST compared with Algorithm 1, by hand and by brute force, and with rates of clusters."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from f3ast_tff.core.cluster_rates import ClusterRates
from f3ast_tff.core.rates import OBJECTIVES, ParticipationRates, marginal_utility
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.methods.f3ast import F3AST
from f3ast_tff.methods.parts.strategy import Strategy
from tests.f3ast_tff.methods.small_world import played

ALL = np.ones(3, bool)


def f3ast(p: list[float], r: list[float], beta: float = 0.1, **kwargs: object) -> F3AST:
    return F3AST.tracking(np.array(p), ParticipationRates(np.array(r), beta), **kwargs)


def picks(strategy: Strategy, rounds: int, available: np.ndarray, k: int) -> list[list[int]]:
    return [played(strategy, t, available, k).ids.tolist() for t in range(1, rounds + 1)]


def test_two_rounds_by_hand() -> None:
    """Lines 4, 5, 9 in this order: pick with r(t-1), move the rates, weigh with r(t).

    p = (0.5, 0.3, 0.2), r = (0.5, 0.2, 0.5), beta = 0.1, K = 2.
    Round 1, all available: p^2 / r^2 = 1, 2.25, 0.16 selects clients 1 and 0, best first. Rates
    become 0.9 * 0.5 + 0.1 = 0.55, 0.9 * 0.2 + 0.1 = 0.28, 0.45. Weights are 0.3 / 0.28 and
    0.5 / 0.55; with the rates before the round they would be 1.5 and 1.
    Round 2, clients 1 and 2 available: both. Rates 0.495, 0.352, 0.505.
    """
    strategy = f3ast([0.5, 0.3, 0.2], [0.5, 0.2, 0.5])
    first = played(strategy, 1, ALL, 2)
    assert first.ids.tolist() == [1, 0]
    np.testing.assert_allclose(first.weights, [0.3 / 0.28, 0.5 / 0.55])
    np.testing.assert_allclose(strategy.rates.values, [0.55, 0.28, 0.45])

    second = played(strategy, 2, np.array([False, True, True]), 2)
    assert second.ids.tolist() == [1, 2]
    np.testing.assert_allclose(second.weights, [0.3 / 0.352, 0.2 / 0.505])
    np.testing.assert_allclose(strategy.rates.values, [0.495, 0.352, 0.505])


def test_fill_unavailable_adds_the_lowest_ids() -> None:
    """Reading R17: client 3 is available; 0 and 1 fill the cohort, and their rates rise."""
    strategy = f3ast([0.2] * 5, [0.5] * 5, short_rounds="fill_unavailable")
    only_3 = np.arange(5) == 3
    assert played(strategy, 1, only_3, 3).ids.tolist() == [3, 0, 1]
    np.testing.assert_allclose(strategy.rates.values, [0.55, 0.55, 0.45, 0.55, 0.45])
    assert played(strategy, 2, np.zeros(5, bool), 2).ids.tolist() == [0, 1]
    assert set(played(strategy, 3, np.ones(5, bool), 2).ids) == {2, 4}


def test_k_divides_every_weight() -> None:
    """Reading R2: the released code divides by K = 2, also in a round of one client."""
    strategy = f3ast([0.5, 0.3, 0.2], [0.5] * 3, divide_by_k=True)
    cohort = played(strategy, 1, np.array([False, True, False]), 2)
    np.testing.assert_allclose(cohort.weights, [0.3 / 0.55 / 2])


def test_ties_go_to_the_lowest_id_or_at_random() -> None:
    """Rates are frozen (a beta of 1e-30 moves nothing): four clients tie in each of 64 rounds.

    If ties are random, one of the four never wins with probability 4 * 0.75^64 = 4e-8.
    """
    four = np.ones(4, bool)

    def winners(**kwargs: object) -> list[list[int]]:
        return picks(f3ast([0.25] * 4, [0.5] * 4, beta=1e-30, **kwargs), 64, four, 1)

    assert winners(ties="lowest_id") == [[0]] * 64
    assert {ids[0] for ids in winners(seed=1)} == {0, 1, 2, 3}
    assert winners(seed=1) == winners(seed=1) != winners(seed=2)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_falling_step_by_hand(objective: str) -> None:
    """K = 1, p = (0.5, 0.3, 0.2), r(0) = 0.5: equal rates are ordered by shares.

    Round 1 takes client 0: r = (1, 0, 0), weight 0.5 / 1. Clients never selected come first, by
    decreasing share. So rounds 2 and 3 take clients 1 and 2, with new rates 1/2 and 1/3 and weights
    0.3 * 2 and 0.2 * 3. Then all rates are 1/3: client 0, rate 2/4, weight 0.5 * 2.
    """
    p = np.array([0.5, 0.3, 0.2])
    strategy = F3AST.tracking(
        p,
        ParticipationRates(np.full(3, 0.5), 0.001, falling=True),
        availability_objective=objective,
    )
    cohorts = [played(strategy, t, ALL, 1) for t in range(1, 5)]
    assert [cohort.ids.tolist() for cohort in cohorts] == [[0], [1], [2], [0]]
    np.testing.assert_allclose([c.weights[0] for c in cohorts], [0.5, 0.6, 0.6, 1.0])


def test_falling_step_under_costs_takes_the_never_selected_first() -> None:
    """Budget 2, costs 1: clients 0 and 1 by p, then 2 and the one with the larger p."""
    p = np.array([0.5, 0.3, 0.2])
    strategy = F3AST.tracking(p, ParticipationRates(np.full(3, 0.5), 0.001, falling=True))
    budget = RoundConstraint(3, cost=np.ones(3), budget=2.0)
    ids = [played(strategy, t, ALL, budget).ids.tolist() for t in (1, 2)]
    assert [sorted(i) for i in ids] == [[0, 1], [0, 2]]


def test_under_costs_the_utility_is_the_fall_of_h() -> None:
    """p / r = 3, 2, 1.5 at costs 3, 2, 1 under budget 3: squares 9 against 4 + 2.25."""
    p = np.array([0.5, 0.3, 0.2])
    budget = RoundConstraint(3, cost=np.array([3.0, 2.0, 1.0]), budget=3.0)
    strategy = F3AST.tracking(p, ParticipationRates(p / [3, 2, 1.5], 0.1))
    assert played(strategy, 1, ALL, budget).ids.tolist() == [0]


def test_clients_that_join_start_in_both_rates() -> None:
    rates = (ParticipationRates(np.array(r), 0.1) for r in ([0.5, 0.4], [0.6, 0.3]))
    strategy = F3AST.tracking(np.array([0.5, 0.5]), next(rates), selected_rates=next(rates))
    joined = strategy.renewed(np.array([0.2, 0.8]), np.array([1]), 0.25)
    assert joined.p.tolist() == [0.2, 0.8]
    np.testing.assert_allclose(joined.rates.values, [0.5, 0.25])
    assert joined.selected_rates is not None
    np.testing.assert_allclose(joined.selected_rates.values, [0.6, 0.25])


def test_it_shows_its_settings_without_arrays() -> None:
    shown = "F3AST(rate_beta=0.1, availability_objective='p_squared', ties='random', "
    assert repr(f3ast([0.5, 0.5], [0.5, 0.5])).startswith(shown)


def test_weights_are_bounded_before_k_divides_them() -> None:
    """p / r(1) = 0.5 / 0.55 = 0.91 and 0.3 / 0.28 = 1.07; best first 1.07, 0.91; bound 1, K = 2."""
    for divide_by_k, expected in ((False, [1.0, 0.5 / 0.55]), (True, [0.5, 0.25 / 0.55])):
        strategy = f3ast(
            [0.5, 0.3, 0.2], [0.5, 0.2, 0.5], divide_by_k=divide_by_k, weight_bound=1.0
        )
        cohort = played(strategy, 1, ALL, 2)
        assert cohort.ids.tolist() == [1, 0]
        np.testing.assert_allclose(cohort.weights, expected)
        np.testing.assert_allclose(strategy.rates.values, [0.55, 0.28, 0.45])


CLIENTS = st.lists(
    st.tuples(st.floats(0.01, 1), st.floats(0.01, 1), st.booleans()), min_size=1, max_size=7
)


@given(CLIENTS, st.integers(1, 8), st.sampled_from(OBJECTIVES))
def test_cohort_is_the_argmax_of_eq_4(
    clients: list[tuple[float, float, bool]], k: int, objective: str
) -> None:
    p, r, mask = (np.array(column) for column in zip(*clients))
    p = p / p.sum()
    strategy = F3AST.tracking(p, ParticipationRates(r, 0.1), availability_objective=objective)
    cohort = played(strategy, 1, mask, k)
    utility = marginal_utility(r, p, objective)
    constraint = itertools.chain.from_iterable(
        itertools.combinations(np.flatnonzero(mask), size) for size in range(k + 1)
    )
    best = max(sum(utility[list(subset)]) for subset in constraint)
    assert sum(utility[cohort.ids]) == pytest.approx(best, rel=1e-12)
    assert set(cohort.ids) <= set(np.flatnonzero(mask))
    np.testing.assert_allclose(cohort.weights, p[cohort.ids] / (0.9 * r[cohort.ids] + 0.1))


TWO = ParticipationRates(np.array([0.5, 0.5]), 0.2)
THIRDS = np.full(3, 1 / 3)


@pytest.mark.parametrize(
    ("p", "rates_of", "given", "says"),
    [
        ([0.5, 0.6], TWO, {}, "p sums to 1.1: must sum to 1"),
        ([1.5, -0.5], TWO, {}, r"p\[1\] = -0.5: must be at least 0"),
        ([np.nan, 1.0], TWO, {}, r"p\[0\] = nan"),
        ([[0.5, 0.5]], TWO, {}, r"p = .*: must be numbers, one per client"),
        (THIRDS, TWO, {}, r"p has shape \(3,\), rates \(2,\)"),
        (THIRDS, [0, 1], {}, r"p has shape \(3,\), rates \(2,\)"),
        *(([0.5, 0.5], TWO, {"weight_bound": bad}, "weight_bound") for bad in (0.0, -1.0, np.nan)),
        *((THIRDS, clusters, {}, "cluster") for clusters in ([0, 0, 0], [0, 1, 2], [0, 1, -1])),
    ],
)
def test_refused(p: Any, rates_of: Any, given: dict[str, float], says: str) -> None:
    """Shares, rates of `TWO` or of clusters, and bounds that make no sense."""
    with pytest.raises(ValueError, match=says):
        rates = ClusterRates(np.array(rates_of), TWO) if isinstance(rates_of, list) else rates_of
        F3AST.tracking(np.array(p), rates, **given)


@pytest.mark.parametrize("bound", [None, 0.5])
@pytest.mark.parametrize("falling", [False, True])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_one_client_a_cluster_is_f3ast(objective: str, falling: bool, bound: float | None) -> None:
    rng = np.random.default_rng(0)
    p, r = rng.dirichlet(np.ones(6)), rng.uniform(0.1, 1, 6)
    one, other = (ParticipationRates(r, 0.1, falling=falling) for _ in range(2))
    given = {"availability_objective": objective, "seed": 3, "weight_bound": bound}
    alone = F3AST.tracking(p, one, **given)
    clusters = F3AST.tracking(p, ClusterRates(np.arange(6), other), **given)
    for t in range(1, 50):
        mask = rng.random(6) < 0.5
        expected, found = (played(s, t, mask, 2) for s in (alone, clusters))
        assert found.ids.tolist() == expected.ids.tolist()
        np.testing.assert_allclose(found.weights, expected.weights)


def test_one_round_by_hand() -> None:
    """Clusters {0, 1, 2} and {3}, rates 0.3 and 0.4, K = 2, clients 0, 1, 3 available.

    p^2: mean (0.04 + 0.04 + 0.01) / 3 = 0.03 over 0.09 is 1/3, less than 0.25 / 0.16 = 1.56. So
    client 3 and one of 0 and 1 are selected. Rates become 0.9 * 0.3 + 0.1 / 3 and 0.9 * 0.4 + 0.1.
    """
    p = np.array([0.2, 0.2, 0.1, 0.5])
    rates = ParticipationRates(np.array([0.3, 0.4]), 0.1)
    strategy = F3AST.tracking(p, ClusterRates(np.array([0, 0, 0, 1]), rates))
    cohort = played(strategy, 1, np.array([True, True, False, True]), 2)
    assert cohort.ids[0] == 3
    assert cohort.ids[1] in (0, 1)
    np.testing.assert_allclose(rates.values, [0.27 + 0.1 / 3, 0.46])
    np.testing.assert_array_equal(strategy.participation_rates(), rates.values[[0, 0, 0, 1]])
    np.testing.assert_allclose(cohort.weights, [0.5 / 0.46, 0.2 / (0.27 + 0.1 / 3)])


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_large_cluster_is_not_preferred_for_its_size(objective: str) -> None:
    """Clusters {0, 1, 2} and {3}, p = 0.22, 0.22, 0.22, 0.34, equal rates, K = 1, all available.

    p^2: the means are 0.0484 and 0.1156, so client 3 is selected; the sums, 0.1452 and 0.1156,
    would select from the other cluster. p: means 0.22 and 0.34, sums 0.66 and 0.34.
    """
    p, rates = np.array([0.22, 0.22, 0.22, 0.34]), ParticipationRates(np.full(2, 0.5), 0.1)
    shared = ClusterRates(np.array([0, 0, 0, 1]), rates)
    strategy = F3AST.tracking(p, shared, availability_objective=objective)
    assert played(strategy, 1, p > 0, 1).ids.tolist() == [3]


def test_falling_step_and_bound_by_hand() -> None:
    """Clusters {0, 1, 2} and {3}, K = 1, all available, p^2: means 0.03 and 0.25, r(0) = 0.5.

    Round 1: client 3, rate 1, weight 0.5. Round 2: a client of the other cluster, which has rate 0;
    its new rate is (1/3) / 2 = 1/6. The weight would be 0.2 * 6 = 1.2, or 0.1 * 6 = 0.6 for client
    2; the bound makes it 0.55.
    """
    rates = ParticipationRates(np.array([0.5, 0.5]), 0.1, falling=True)
    p, clusters = np.array([0.2, 0.2, 0.1, 0.5]), np.array([0, 0, 0, 1])
    strategy = F3AST.tracking(p, ClusterRates(clusters, rates), weight_bound=0.55)
    first, second = (played(strategy, t, p > 0, 1) for t in (1, 2))
    assert (first.ids.tolist(), first.weights.tolist()) == ([3], [0.5])
    assert second.ids[0] < 3
    assert second.weights.tolist() == [0.55]
    np.testing.assert_allclose(rates.values, [1 / 6, 1 / 2])


@pytest.mark.long
def test_every_client_weighs_its_share_and_clusters_share_alike() -> None:
    """Two clusters, alike within, available 0.3 and 0.8 of the time: sum of weights p_k each.

    For r fixed at about 0.25, the standard error of a mean weight over 8000 rounds would be at most
    p sqrt((1 - r) / r / 8000) = 0.02 p. The tracked r varies by a twentieth and includes the round
    itself, which biases the mean by a few thousandths of p.
    """
    q = np.repeat([0.3, 0.8], 4)
    p = np.full(8, 1 / 8)
    rates = ParticipationRates(np.array([0.25, 0.25]), 0.002)
    strategy = F3AST.tracking(p, ClusterRates(np.repeat([0, 1], 4), rates), seed=1)
    rng, total = np.random.default_rng(1), np.zeros(8)
    for t in range(1, 9001):
        cohort = played(strategy, t, rng.random(8) < q, 2)
        if t > 1000:
            total[cohort.ids] += cohort.weights
    assert np.all(np.abs(total / 8000 / p - 1) < 4.5 * 0.02)
