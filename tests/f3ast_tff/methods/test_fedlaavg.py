"""Longest absent first, alone and after a first phase."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.methods.fedavg import FedAvg
from f3ast_tff.methods.fedlaavg import FedLaAvg, Switching
from tests.f3ast_tff.methods.small_world import played

P = np.array([0.1, 0.2, 0.3, 0.4])


def picks(
    strategy: FedLaAvg, masks: list[list[int]], constraint: RoundConstraint, start: int = 1
) -> list[list[int]]:
    n = len(strategy.p)
    return [
        played(strategy, t, np.isin(np.arange(n), mask), constraint).ids.tolist()
        for t, mask in enumerate(masks, start=start)
    ]


def test_by_hand() -> None:
    """K = 2, ties go to the lowest id. Last participations are in brackets, 0 for never.

    1: {0, 1, 2} all never: 0, 1. 2: {0, 1}: both (1, 1). 3: {1, 2, 3}: 2, 3 never: both.
    4: {0, 1, 3} (2, 2, 3): 0, 1. 5: all (4, 4, 3, 3): 2, 3. 6: {0} (4). 7: {0, 2, 3} (6, 5, 5).
    """
    masks = [[0, 1, 2], [0, 1], [1, 2, 3], [0, 1, 3], [0, 1, 2, 3], [0], [0, 2, 3]]
    expected = [[0, 1], [0, 1], [2, 3], [0, 1], [2, 3], [0], [2, 3]]
    strategy = FedLaAvg.start(P, 1, ties="lowest_id")
    assert picks(strategy, masks, RoundConstraint(2)) == expected
    assert strategy.last_participation.tolist() == [6, 4, 7, 7]
    # The longest absent comes first: client 1 since round 4, then 0 since 6.
    assert picks(strategy, [[0, 1, 2, 3]], RoundConstraint(3), start=8) == [[1, 0, 2]]


def test_absence_is_of_taking_part_not_of_being_there() -> None:
    """K = 1: client 1 is available in each round, and first selected in round 2."""
    strategy = FedLaAvg.start(P[:2] / 0.3, 1, ties="lowest_id")
    assert picks(strategy, [[0, 1]] * 4, RoundConstraint(1)) == [[0], [1], [0], [1]]


def test_weights_are_the_shares() -> None:
    cohort = played(FedLaAvg.start(P, 1, ties="lowest_id"), 1, np.ones(4, bool), 3)
    assert cohort.weights.tolist() == [0.1, 0.2, 0.3]


@pytest.mark.parametrize("ties", ["lowest_id", "random"])
def test_round_robin_when_all_are_available(ties: str) -> None:
    """N = 12, K = 4: each block of 3 rounds has each client once.

    Random ties in later blocks only reorder clients of the same round.
    """
    strategy = FedLaAvg.start(np.full(12, 1 / 12), 4, seed=5, ties=ties)
    chosen = picks(strategy, [list(range(12))] * 12, RoundConstraint(4))
    for block in range(0, 12, 3):
        assert sorted(sum(chosen[block : block + 3], [])) == list(range(12))
    for t in range(3, 12):
        assert set(chosen[t]) == set(chosen[t - 3])


def test_ties_at_random_are_uniform_and_seeded() -> None:
    """First round, K = 1 of 4: each frequency over 2000 seeds is within 4.5 standard errors."""

    def first(seed: int) -> int:
        strategy = FedLaAvg.start(P, 1, seed=seed)
        return int(played(strategy, 1, np.ones(4, bool), 1).ids[0])

    counts = np.bincount([first(seed) for seed in range(2000)], minlength=4)
    assert np.abs(counts / 2000 - 0.25).max() < 4.5 * np.sqrt(0.25 * 0.75 / 2000)
    assert [first(seed) for seed in range(20)] == [first(seed) for seed in range(20)]


def test_many_clients_are_gone_through_in_blocks() -> None:
    """50,000 clients exceed one block of `top_k`: still the longest absent, lowest ids."""
    n = 50_000
    strategy = FedLaAvg.start(np.full(n, 1 / n), 1, ties="lowest_id")
    last = np.random.default_rng(0).integers(0, 50, n)
    strategy.restore({"last_participation": last})
    mask = np.random.default_rng(1).random(n) < 0.5
    ids = played(strategy, 51, mask, 1500).ids
    expected = sorted(np.flatnonzero(mask), key=lambda c: (last[c], c))[:1500]
    assert ids.tolist() == expected


def test_other_constraints_go_through_the_same_order() -> None:
    """Costs 3, 1, 1, 1 and a budget of 2: client 0, though longest absent, is too expensive."""
    strategy = FedLaAvg.start(P, 1, ties="lowest_id")
    strategy.restore({"last_participation": np.array([0, 3, 1, 2])})
    constraint = RoundConstraint(4, cost=np.array([3.0, 1.0, 1.0, 1.0]), budget=2.0)
    assert picks(strategy, [[0, 1, 2, 3]], constraint, start=4) == [[2, 3]]
    assert picks(strategy, [[0, 1, 2, 3]], RoundConstraint(2), start=5) == [[0, 1]]


def test_bad_states() -> None:
    with pytest.raises(ValueError, match="lack last_participation"):
        FedLaAvg.start(P, 1).restore({})
    with pytest.raises(ValueError, match="shape"):
        FedLaAvg.start(P, 1).restore({"last_participation": np.zeros(3, np.int64)})


N, K, SWITCH = 12, 4, 6
SHARES = np.arange(1, N + 1) / np.arange(1, N + 1).sum()
EVERYBODY = np.ones(N, bool)


BY_SIZE = {"baseline_sampling": "without_replacement", "baseline_average": "examples"}


def switching() -> Switching:
    return Switching.start(SHARES, K, sizes=np.arange(1, N + 1), switch_round=SWITCH, **BY_SIZE)


def test_first_phase_is_the_first_strategy_with_weights_of_a_mean() -> None:
    alone = FedAvg.start(SHARES, K, sizes=np.arange(1, N + 1), **BY_SIZE)
    for t in range(1, SWITCH):
        cohort = played(switching(), t, EVERYBODY, K)
        expected = played(alone, t, EVERYBODY, K)
        np.testing.assert_array_equal(cohort.ids, expected.ids)
        assert cohort.weights.sum() == pytest.approx(1)
        np.testing.assert_allclose(cohort.weights * expected.weights.sum(), expected.weights)


def test_second_phase_takes_those_absent_longest_with_weights_p() -> None:
    strategy, last = switching(), np.zeros(N, int)
    for t in range(1, SWITCH):
        last[played(strategy, t, EVERYBODY, K).ids] = t
    cohort = played(strategy, SWITCH, EVERYBODY, K)
    assert sorted(last[cohort.ids]) == sorted(last)[:K]
    np.testing.assert_array_equal(cohort.weights, SHARES[cohort.ids])


def test_a_share_of_0_takes_no_part() -> None:
    strategy = FedLaAvg.start([1.0, 0.0], 1)
    assert played(strategy, 1, np.ones(2, bool), 2).ids.tolist() == [0]
