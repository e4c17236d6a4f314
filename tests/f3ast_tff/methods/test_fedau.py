"""FedAU: weights from participation intervals."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.methods.fedau import FedAU
from f3ast_tff.methods.parts.strategy import Cohort, Outcome
from tests.f3ast_tff.methods.small_world import played

P = np.array([0.25, 0.75])


def started(p: np.ndarray, cutoff: int = 0, seed: int = 0) -> FedAU:
    return FedAU.start(p, len(p), seed=seed, fedau_cutoff=cutoff)


def round_of(strategy: FedAU, t: int, there: list[int], dropped: tuple[int, ...] = ()) -> Cohort:
    """Plays a round in which all clients except `dropped` are delivered."""
    n = len(strategy.p)
    cohort = played(strategy, t, np.isin(np.arange(n), there), n)
    delivered = ~np.isin(cohort.ids, dropped)
    strategy.observe(t, Outcome(cohort.ids, delivered, np.ones(len(cohort))))
    return cohort


def test_by_hand() -> None:
    """p = (1/4, 3/4). For each client: rounds of participation, and omega before each round.

    Client 0 in 1, 2, 5: intervals 1, 1, 3; omega 1, 1, 1, 1, 1, 5/3.
    Client 1 in 2, 3, 6: intervals 2, 1, 3; omega 1, 1, 2, 3/2, 3/2, 3/2 and then 2.
    Weights p omega: in round 1 (1/4,), in 2 (1/4, 3/4): client 1's interval of 2 counts from
    round 3 on, 3/4 * 2; in 5 client 0 has 1/4; in 6 client 1 has 3/4 * 3/2.
    """
    strategy = started(P)
    there = {1: [0], 2: [0, 1], 3: [1], 4: [], 5: [0], 6: [1]}
    weights = {t: round_of(strategy, t, ids).weights.tolist() for t, ids in there.items()}
    assert weights == {1: [0.25], 2: [0.25, 0.75], 3: [1.5], 4: [], 5: [0.25], 6: [1.125]}
    np.testing.assert_allclose(strategy.state()["mean_interval"], [5 / 3, 2])
    np.testing.assert_allclose(strategy.participation_rates(), [3 / 5, 1 / 2])


def test_cutoff_by_hand() -> None:
    """K_cut = 2. Client 0 only takes part in round 5, client 1 only in round 2.

    Client 0: rounds 1, 2 without it end an interval of 2, and so do rounds 3, 4; round 5 ends an
    interval of 1. Its omega is 2 in round 5, and 5/3 after it. Client 1: it takes part in its
    second round, so one interval of 2 ends instead of two. Absence in rounds 3 and 4 ends another;
    one round is open.
    """
    strategy = started(P, 2)
    there = [[], [1], [], [], [0]]
    cohorts = [round_of(strategy, t, ids) for t, ids in enumerate(there, 1)]
    assert [cohort.weights.tolist() for cohort in cohorts] == [[], [0.75], [], [], [0.5]]
    np.testing.assert_allclose(strategy.state()["mean_interval"], [5 / 3, 2])
    state = strategy.state()
    assert state["intervals_ended"].tolist() == [3, 2]
    assert state["interval_rounds"].tolist() == [0, 1]


def test_a_dropped_update_is_no_participation() -> None:
    """Client 1 is selected in round 1 but dropped; its first interval is 2, ended in round 2."""
    strategy = started(P)
    round_of(strategy, 1, [0, 1], dropped=(1,))
    round_of(strategy, 2, [0, 1])
    assert strategy.state()["mean_interval"].tolist() == [1, 2]


@pytest.mark.long
def test_weights_estimate_the_inverse_of_the_chance_also_where_k_is_short() -> None:
    """Bernoulli(q) and K = 2 of 4: omega tends to the inverse frequency of delivery.

    Means over about 4000 q geometric intervals are compared with the frequency in the same rounds:
    the two only differ by the open interval.
    """
    n, rounds, rng = 4, 4000, np.random.default_rng(0)
    strategy, counts = started(np.full(n, 1 / n), seed=3), np.zeros(n)
    for t in range(1, rounds + 1):
        mask = rng.random(n) < [0.9, 0.5, 0.3, 0.1]
        cohort = played(strategy, t, mask, 2)
        counts[cohort.ids] += 1
        delivered = np.ones(len(cohort), bool)
        strategy.observe(t, Outcome(cohort.ids, delivered, np.zeros(len(cohort))))
    np.testing.assert_allclose(strategy.state()["mean_interval"], rounds / counts, rtol=0.02)


def test_a_client_that_joins_weighs_its_share_until_its_interval_ends() -> None:
    """Both take part in round 3 alone, so their mean interval is 3; then client 1 is another."""
    strategy, both = started(np.array([0.5, 0.5])), np.ones(2, bool)
    for t in (1, 2, 3):
        ids = np.arange(2 if t == 3 else 0)
        strategy.observe(t, Outcome(ids, np.ones(len(ids), bool), np.zeros(len(ids))))
    assert played(strategy, 4, both, 2).weights.tolist() == [1.5, 1.5]
    joined = strategy.renewed(np.array([0.2, 0.8]), np.array([1]), 0.5)
    np.testing.assert_allclose(played(joined, 4, both, 2).weights, [0.6, 0.8])
