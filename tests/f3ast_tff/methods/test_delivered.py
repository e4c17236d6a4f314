"""Strategies with lost updates: Lemma B.1, the example of Sec. I, and rules by hand.

Losses are independent of everything else: an update of client k is lost with probability l_k.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from f3ast_tff.core.cluster_rates import ClusterRates
from f3ast_tff.core.policies import GreedyMixture
from f3ast_tff.core.rates import ParticipationRates
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.methods.f3ast import F3AST
from f3ast_tff.methods.f3ast_fixed import FixedPolicy
from f3ast_tff.methods.fedlaavg import FedLaAvg, Switching
from f3ast_tff.methods.parts.availability_knowledge import KnownAvailability
from f3ast_tff.methods.parts.strategy import Cohort, Round, cohort_of
from f3ast_tff.methods.unbiased import AdaFed
from tests.f3ast_tff.methods.small_world import played

Z = 4.5
# The policy of `frozen`: order 0, 2, 1, 3, K = 2, availability Q, which achieves R.
P = np.array([0.4, 0.3, 0.2, 0.1])
Q = np.array([0.5, 0.8, 0.4, 0.9])
R = np.array([0.5, 0.64, 0.4, 0.36])
LOSS = np.array([0.0, 0.5, 0.2, 0.9])
# Client 2 of the example of Sec. I loses three of four updates.
PAIR_LOSS = np.array([0.0, 0.75])


def expected_weights(rates: np.ndarray, normalised: bool) -> np.ndarray:
    """Returns E[weight of client k], summed over the 16 available sets and 16 sets of losses."""
    policy = GreedyMixture(np.array([[4.0, 2.0, 3.0, 1.0]]), np.ones(1))
    strategy, total = FixedPolicy.following(P, rates, policy), np.zeros(4)
    sets = [np.array(s) for s in itertools.product([False, True], repeat=4)]
    for mask in sets:
        for arrives in sets:
            chance = np.prod(np.where(mask, Q, 1 - Q) * np.where(arrives, 1 - LOSS, LOSS))
            kept = played(strategy, 1, mask, 2, delivered=arrives)
            scale = max(kept.weights.sum(), 1e-9) if normalised else 1.0
            total[kept.ids] += chance * kept.weights / scale
    return total


def test_rates_of_the_delivered_leave_the_sum_unbiased() -> None:
    """E[1{k delivered}] = R_k (1 - l_k), so p_k divided by it has expectation p_k."""
    np.testing.assert_allclose(expected_weights(R * (1 - LOSS), False), P, rtol=1e-12)


def test_rates_of_the_selected_bias_it_by_the_losses() -> None:
    """Client k counts for p_k (1 - l_k): another objective, with shorter steps."""
    found = expected_weights(R, False)
    np.testing.assert_allclose(found, P * (1 - LOSS), rtol=1e-12)
    # A mean restores the length of the steps, but not the shares.
    mean = expected_weights(R, True)
    assert mean.sum() > 0.75 > found.sum()
    assert mean[3] / mean[0] < 0.5 * P[3] / P[0]


def pair(follow: str, beta: float) -> F3AST:
    """F3AST of the example, started at its expected rates."""
    asked = EXPECTED[follow]
    r = asked if follow == "selected" else asked * (1 - PAIR_LOSS)
    return F3AST.tracking(
        np.full(2, 0.5),
        ParticipationRates(r, beta),
        rates_follow=follow,
        selected_rates=ParticipationRates(asked, beta) if follow == "both" else None,
    )


# Rates of asking. Each row sums to 0.875, the share of rounds with an available client.
EXPECTED = {
    "selected": np.array([0.375, 0.5]),
    "delivered": np.array([0.175, 0.7]),
    "both": np.array([0.875 / 3, 1.75 / 3]),
}


@pytest.mark.parametrize("follow", EXPECTED)
def test_example_of_table_one_with_losses(follow: str) -> None:
    """P(A1) = 0.375, P(A2) = 0.8, K = 1, p = (1/2, 1/2), losses (0, 3/4), by hand.

    Asking rates satisfy s1 <= 0.375, s2 <= 0.8, s1 + s2 = 0.875; delivered rates are
    r = (s1, s2 / 4). `selected` makes s as even as possible: (0.375, 0.5). `delivered` makes r
    even: 0.875 - s2 = s2 / 4, so s = (0.175, 0.7). `both` follows 1 / (r s), which is even where
    s1^2 = s2^2 / 4: s = (0.875, 1.75) / 3. There 1 / s1 + 4 / s2 = 4 H is least.

    Weights p / r are 1/2 on average, except with rates of the selected: there client 2 has 1/8. The
    tolerance of a rate is that of 4000 independent rounds. The tolerance of a weight is that of as
    many rounds with fixed r, sqrt((1 - r) / r) p, plus 5% for the tracking of r (its variance over
    r^2, and beta / r).
    """
    rng, rounds, beta = np.random.default_rng(5), 4000, 0.002
    strategy = pair(follow, beta)
    masks = rng.random((rounds, 2)) < [0.375, 0.8]
    arrives = rng.random((rounds, 2)) >= PAIR_LOSS
    asked, weights = np.zeros((rounds, 2)), np.zeros((rounds, 2))
    for t, mask in enumerate(masks, start=1):
        now = Round(t, mask, RoundConstraint(1))
        ids = strategy.select(now)
        asked[t - 1, ids] = 1
        kept = strategy.weigh(now, ids, arrives[t - 1, ids])
        weights[t - 1, kept.ids] = kept.weights
    s = EXPECTED[follow]
    assert np.all(np.abs(asked.mean(axis=0) - s) < Z * np.sqrt(s * (1 - s) / rounds))
    r = s * (1 - PAIR_LOSS)
    share = np.array([0.5, 0.125]) if follow == "selected" else np.full(2, 0.5)
    error = share * (Z * np.sqrt((1 - r) / r / rounds) + 0.05)
    assert np.all(np.abs(weights.mean(axis=0) - share) < error)
    bound = {"selected": 10.67, "delivered": 11.43, "both": 10.29}
    assert (1 / r).sum() == pytest.approx(bound[follow], abs=0.01)


@pytest.mark.parametrize("falling", [False, True])
@pytest.mark.parametrize("follow", ["delivered", "selected"])
def test_rates_are_those_of_whom_they_follow(follow: str, falling: bool) -> None:
    """Rates equal rates that never saw other clients; so do clusters of one client each."""
    rng, initial = np.random.default_rng(0), np.array([0.1, 0.5, 0.3, 0.2])
    by_hand, own, of_clusters = (
        ParticipationRates(initial, 0.1, falling=falling) for _ in range(3)
    )
    strategy = F3AST.tracking(P, own, rates_follow=follow)
    clusters = F3AST.tracking(P, ClusterRates(np.arange(4), of_clusters), rates_follow=follow)
    for t in range(1, 60):
        mask = rng.random(4) < Q
        now = Round(t, mask, RoundConstraint(2))
        ids = strategy.select(now)
        delivered = rng.random(len(ids)) < 0.5
        np.testing.assert_array_equal(clusters.select(now), ids)
        kept = strategy.weigh(now, ids, delivered)
        assert kept.ids.tolist() == ids[delivered].tolist()
        np.testing.assert_array_equal(kept.weights, (P / own.values)[kept.ids])
        np.testing.assert_allclose(clusters.weigh(now, ids, delivered).weights, kept.weights)
        by_hand.update(ids[delivered] if follow == "delivered" else ids)
        np.testing.assert_array_equal(own.values, by_hand.values)
        np.testing.assert_allclose(of_clusters.values, by_hand.values)


def test_cluster_of_three_by_hand() -> None:
    """Two of three selected clients are delivered: r_g = 0.9 * 0.3 + 0.1 * 2/3 weighs both."""
    rates = ParticipationRates(np.array([0.3]), 0.1)
    strategy = F3AST.tracking(np.full(3, 1 / 3), ClusterRates(np.zeros(3, int), rates))
    everybody, delivered = np.ones(3, bool), np.array([True, False, True])
    kept = played(strategy, 1, everybody, 3, delivered=delivered)
    np.testing.assert_allclose(rates.values, 0.27 + 0.2 / 3)
    np.testing.assert_allclose(kept.weights, 1 / 3 / (0.27 + 0.2 / 3))


def test_rates_of_both_need_rates_of_the_delivered() -> None:
    rates = (ParticipationRates(P, 0.1) for _ in range(2))
    with pytest.raises(ValueError, match="rates_follow = selected: must be both"):
        F3AST.tracking(P, next(rates), next(rates), rates_follow="selected")


def test_adafed_weighs_those_delivered_to_one() -> None:
    """p / pi = 0.8, 0.375, 0.5: clients 0 and 2 alone have 8/13 and 5/13."""
    strategy = AdaFed.knowing(P, KnownAvailability(Q))
    now = Round(1, np.array([True, True, True, False]), RoundConstraint(4))
    kept = cohort_of(strategy, now, np.array([True, False, True, True]))
    assert kept.ids.tolist() == [0, 2]
    np.testing.assert_allclose(kept.weights, [8 / 13, 5 / 13])
    assert len(cohort_of(strategy, now, np.zeros(4, bool))) == 0


def test_lost_client_stays_longest_absent() -> None:
    strategy = FedLaAvg.start(P, 2, ties="lowest_id")
    everybody = np.ones(4, bool)
    now = Round(1, everybody, RoundConstraint(2))
    assert strategy.select(now).tolist() == [0, 1]
    kept = cohort_of(strategy, now, np.array([False, True, True, True]))
    assert (kept.ids.tolist(), kept.weights.tolist()) == ([1], [0.3])
    assert strategy.last_participation.tolist() == [0, 1, 0, 0]
    assert played(strategy, 2, everybody, 2).ids.tolist() == [0, 2]
    assert strategy.last_participation.tolist() == [2, 1, 2, 0]


def test_switching_averages_those_delivered_then_goes_by_absence() -> None:
    """A client that is drawn twice in the first phase, and lost, has not taken part."""
    strategy = Switching.start(P, 4, switch_round=2, ties="lowest_id")
    now = Round(1, np.ones(4, bool), RoundConstraint(6))
    drawn = strategy.select(now)
    lost = drawn == np.bincount(drawn).argmax()
    assert lost.sum() > 1
    kept = strategy.weigh(now, drawn, ~lost)
    np.testing.assert_allclose(kept.weights, 1 / (~lost).sum())
    took_part = np.isin(np.arange(4), kept.ids)
    assert strategy.state()["last_participation"].tolist() == took_part.astype(int).tolist()
    now = Round(2, np.ones(4, bool), RoundConstraint(2))
    second = strategy.select(now)
    kept = strategy.weigh(now, second, np.array([True, False]))
    np.testing.assert_array_equal(kept.weights, P[kept.ids])
    assert strategy.state()["last_participation"][second].tolist() == [2, 0]


UPDATES = np.random.default_rng(0).normal(size=(4, 5))
FULL = P @ UPDATES


def frozen() -> F3AST:
    """F3AST with frozen rates (a beta of 1e-30 moves nothing): a static policy, by p / r.

    It must also achieve the r that it is frozen at. p / r = 0.8, 0.469, 0.5, 0.278, so the order is
    0, 2, 1, 3. Clients 0 and 2 are selected whenever available: 0.5, 0.4. Client 1 is selected
    unless 0 and 2 both are: 0.8 (1 - 0.5 * 0.4) = 0.64. Client 3 is selected if at most one other
    is available: none 0.06, only 0 0.06, only 2 0.04, only 1 0.24, so 0.9 * 0.4.
    """
    return F3AST.tracking(P, ParticipationRates(R, 1e-30), ties="lowest_id")


def weighted_sum(cohort: Cohort) -> np.ndarray:
    return cohort.weights @ UPDATES[cohort.ids]


def expectation(strategy: F3AST, value: Callable[[Cohort], np.ndarray]) -> np.ndarray:
    """Returns E[value(S)], summed over the 16 available sets."""
    total = np.zeros(1)
    for mask in map(np.array, itertools.product([False, True], repeat=4)):
        chance = np.prod(np.where(mask, Q, 1 - Q))
        total = total + chance * value(played(strategy, 1, mask, 2))
    return total


def test_policy_achieves_the_rates_that_it_is_frozen_at() -> None:
    def took_part(cohort: Cohort) -> np.ndarray:
        return np.isin(np.arange(4), cohort.ids).astype(float)

    np.testing.assert_allclose(expectation(frozen(), took_part), R, rtol=1e-12)


def test_weighted_sum_is_unbiased_exactly() -> None:
    """Lemma B.1: under a static policy of rates r, E[sum_S p_k / r_k v_k] = sum_k p_k v_k."""
    np.testing.assert_allclose(expectation(frozen(), weighted_sum), FULL, rtol=1e-12, atol=1e-15)
