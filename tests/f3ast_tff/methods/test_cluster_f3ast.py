"""F3AST with rates by cluster."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.methods.f3ast import F3AST, ClusterF3AST
from f3ast_tff.methods.parts.constraint import RoundConstraint
from f3ast_tff.methods.parts.objective import OBJECTIVES
from f3ast_tff.methods.parts.rates import ParticipationRates
from f3ast_tff.methods.parts.strategy import Round, cohort_of


@pytest.mark.parametrize("bound", [None, 0.5])
@pytest.mark.parametrize("falling", [False, True])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_one_client_a_cluster_is_f3ast(objective: str, falling: bool, bound: float | None) -> None:
    rng = np.random.default_rng(0)
    p, r = rng.dirichlet(np.ones(6)), rng.uniform(0.1, 1, 6)
    one, other = (ParticipationRates(r, 0.1, falling=falling) for _ in range(2))
    alone = F3AST(p, one, objective, seed=3, weight_bound=bound)
    clusters = ClusterF3AST(p, np.arange(6), other, objective, seed=3, weight_bound=bound)
    for t in range(1, 50):
        mask = rng.random(6) < 0.5
        expected, found = (
            cohort_of(s, Round(t, mask, RoundConstraint(2))) for s in (alone, clusters)
        )
        assert found.ids.tolist() == expected.ids.tolist()
        np.testing.assert_allclose(found.weights, expected.weights)


def test_one_round_by_hand() -> None:
    """Clusters {0, 1, 2} and {3}, rates 0.3 and 0.4, K = 2, clients 0, 1, 3 available.

    p^2: mean (0.04 + 0.04 + 0.01) / 3 = 0.03 over 0.09 is 1/3, less than 0.25 / 0.16 = 1.56. So
    client 3 and one of 0 and 1. Rates 0.9 * 0.3 + 0.1 / 3 and 0.9 * 0.4 + 0.1.
    """
    p = np.array([0.2, 0.2, 0.1, 0.5])
    rates = ParticipationRates(np.array([0.3, 0.4]), 0.1)
    strategy = ClusterF3AST(p, np.array([0, 0, 0, 1]), rates)
    cohort = cohort_of(strategy, Round(1, np.array([True, True, False, True]), RoundConstraint(2)))
    assert cohort.ids[0] == 3
    assert cohort.ids[1] in (0, 1)
    np.testing.assert_allclose(rates.values, [0.27 + 0.1 / 3, 0.46])
    np.testing.assert_allclose(cohort.weights, [0.5 / 0.46, 0.2 / (0.27 + 0.1 / 3)])


def test_falling_step_and_bound_by_hand() -> None:
    """Clusters {0, 1, 2} and {3}, K = 1, all there, p^2: mean 0.03 and 0.25, r(0) = 0.5.

    Round 1: client 3, rate 1, weight 0.5. Round 2: one of the other cluster, of rate 0; its rate
    is then (1/3) / 2 = 1/6. Weight 0.2 * 6 = 1.2, or 0.1 * 6 = 0.6 for client 2, at most 0.55.
    """
    rates = ParticipationRates(np.array([0.5, 0.5]), 0.1, falling=True)
    p, clusters = np.array([0.2, 0.2, 0.1, 0.5]), np.array([0, 0, 0, 1])
    strategy = ClusterF3AST(p, clusters, rates, weight_bound=0.55)
    first, second = (cohort_of(strategy, Round(t, p > 0, RoundConstraint(1))) for t in (1, 2))
    assert (first.ids.tolist(), first.weights.tolist()) == ([3], [0.5])
    assert second.ids[0] < 3
    assert second.weights.tolist() == [0.55]
    np.testing.assert_allclose(rates.values, [1 / 6, 1 / 2])
    with pytest.raises(ValueError, match="weight_bound"):
        ClusterF3AST(p, clusters, rates, weight_bound=0.0)


def test_every_client_weighs_its_share_and_clusters_share_alike() -> None:
    """Two clusters, alike within, available 0.3 and 0.8 of the time: sum of weights p_k each.

    Were r fixed at about 0.25, the standard error of a mean weight over 8000 rounds would be at
    most p sqrt((1 - r) / r / 8000) = 0.02 p. That the tracked r varies by a twentieth, and holds
    the round itself, biases the mean by a few thousandths of p.
    """
    q = np.repeat([0.3, 0.8], 4)
    p = np.full(8, 1 / 8)
    rates = ParticipationRates(np.array([0.25, 0.25]), 0.002)
    strategy = ClusterF3AST(p, np.repeat([0, 1], 4), rates, seed=1)
    rng, total = np.random.default_rng(1), np.zeros(8)
    for t in range(1, 9001):
        cohort = cohort_of(strategy, Round(t, rng.random(8) < q, RoundConstraint(2)))
        if t > 1000:
            total[cohort.ids] += cohort.weights
    assert np.all(np.abs(total / 8000 / p - 1) < 4.5 * 0.02)


@pytest.mark.parametrize("falling", [False, True])
def test_restored_state_goes_on(falling: bool) -> None:
    def fresh() -> ClusterF3AST:
        rates = ParticipationRates(np.array([0.5, 0.5]), 0.07, falling=falling)
        return ClusterF3AST(np.full(4, 0.25), np.array([0, 1, 0, 1]), rates, seed=2)

    def run(strategy: ClusterF3AST, first: int, last: int) -> list[list[float]]:
        cohorts = [
            cohort_of(strategy, Round(t, np.ones(4, bool), RoundConstraint(2)))
            for t in range(first, last + 1)
        ]
        return [[*c.ids.tolist(), *c.weights.tolist()] for c in cohorts]

    whole, stopped, resumed = fresh(), fresh(), fresh()
    expected = run(whole, 1, 30)
    run(stopped, 1, 11)
    resumed.restore(stopped.state())
    assert run(resumed, 12, 30) == expected[11:]


@pytest.mark.parametrize("clusters", [[0, 0, 0], [0, 1, 2], [0, 1, -1], [0, 1]])
def test_clusters_that_do_not_fit_are_refused(clusters: list[int]) -> None:
    rates = ParticipationRates(np.array([0.5, 0.5]), 0.2)
    with pytest.raises(ValueError, match="cluster"):
        ClusterF3AST(np.full(3, 1 / 3), np.array(clusters), rates)
