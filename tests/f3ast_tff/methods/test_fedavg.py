"""FedAvg's sampling in proportion to p, uniform sampling, and FedAvg over all clients."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.methods.fedavg import FedAvg, Uniform
from f3ast_tff.methods.parts.all_available import AllAvailable
from tests.f3ast_tff.methods.small_world import N, config, played, small_world

P = np.array([0.5, 0.2, 0.2, 0.1])
ALL = np.ones(4, bool)


def test_only_available_clients_each_once() -> None:
    strategy = FedAvg.start(P, 1, baseline_sampling="without_replacement")
    mask = np.array([False, True, False, True])
    for t in range(1, 50):
        assert sorted(played(strategy, t, mask, 3).ids) == [1, 3]
        cohort = played(strategy, t, ALL, 3)
        assert len(set(cohort.ids)) == len(cohort) == 3
        assert cohort.weights.tolist() == [1, 1, 1]


def test_with_replacement_always_k_draws() -> None:
    """Reading R3, weights by data size: a client drawn twice enters the mean twice."""
    strategy = FedAvg.start(P, 3, sizes=[10, 20, 30, 40], baseline_average="examples")
    cohort = played(strategy, 1, np.array([False, False, True, False]), 3)
    assert cohort.ids.tolist() == [2, 2, 2]
    assert cohort.weights.tolist() == [30, 30, 30]


def test_weights_are_those_of_the_drawn() -> None:
    sizes = np.array([10.0, 20.0, 30.0, 40.0])
    given = {"baseline_sampling": "without_replacement", "baseline_average": "examples"}
    cohort = played(FedAvg.start(P, 4, sizes=sizes, **given), 1, ALL, 4)
    assert cohort.weights.tolist() == sizes[cohort.ids].tolist()


# 1 - 1e-5 quantile of chi-square with 5 degrees of freedom.
CHI_SQUARE_5 = 30.9


@pytest.mark.long
def test_every_pair_is_as_likely() -> None:
    """Four of five clients are available, K = 2: six pairs."""
    given = {"baseline_sampling": "uniform", "baseline_average": "examples"}
    strategy = FedAvg.start(np.full(5, 0.2), 2, seed=4, sizes=[1, 2, 3, 4, 5], **given)
    total = 6000
    mask = np.arange(5) != 2
    counts: Counter[tuple[int, ...]] = Counter()
    for t in range(1, total + 1):
        cohort = played(strategy, t, mask, 2)
        assert cohort.weights.tolist() == (cohort.ids + 1).tolist()
        counts[tuple(sorted(cohort.ids.tolist()))] += 1
    assert len(counts) == 6
    assert sum((n - 1000) ** 2 / 1000 for n in counts.values()) < CHI_SQUARE_5


def test_a_client_without_data_is_not_drawn_until_it_has_a_share() -> None:
    strategy = Uniform.start([0.5, 0.5, 0.0, 0.0], 4)
    cohort = played(strategy, 1, ALL, 4)
    assert sorted(cohort.ids.tolist()) == [0, 1]
    joined = strategy.renewed(np.array([0.4, 0.3, 0.3, 0]), np.array([2]), 0.5)
    assert sorted(played(joined, 2, ALL, 4).ids.tolist()) == [0, 1, 2]


@pytest.mark.parametrize(
    ("algorithm", "given"), [("uniform", {}), ("fedavg", {"baseline_sampling": "uniform"})]
)
def test_uniform_draws_leave_out_clients_without_data(
    algorithm: str, given: dict[str, Any]
) -> None:
    strategy = config(algorithm, **given).build(small_world(p=np.arange(N) / 15))
    assert sorted(played(strategy, 1, np.ones(N, bool), N).ids.tolist()) == [1, 2, 3, 4, 5]


def test_new_shares_draw_the_clients() -> None:
    """Client 1 alone has a share now."""
    strategy = FedAvg.start([1.0, 0.0], 2)
    joined = strategy.renewed(np.array([0.0, 1.0]), np.array([1]), 0.5)
    assert played(joined, 1, np.ones(2, bool), 3).ids.tolist() == [1, 1, 1]


TWO = np.array([0.25, 0.75])


def test_over_all_absent_clients_count_as_0() -> None:
    """Two rounds with D = (1, 2): both give 0.25 + 0.75 * 2 = 1.75; client 1 alone gives 1.5."""
    strategy, updates = AllAvailable.start(TWO, 1), np.array([1.0, 2.0])
    for t, mask, ids, delta in ((1, [True, True], [0, 1], 1.75), (2, [False, True], [1], 1.5)):
        cohort = played(strategy, t, np.array(mask), 2)
        assert cohort.ids.tolist() == ids
        assert cohort.weights @ updates[cohort.ids] == pytest.approx(delta)


@pytest.mark.long
def test_over_all_where_k_is_short_no_weight_grows() -> None:
    p = np.array([0.1, 0.2, 0.3, 0.4, 0.0])
    counts = np.zeros(5)
    for t in range(1, 2001):
        cohort = played(AllAvailable.start(p, 1, seed=2), t, np.ones(5, bool), 2)
        np.testing.assert_array_equal(cohort.weights, p[cohort.ids])
        counts[cohort.ids] += 1
    assert counts[4] == 0
    # Each of four has probability 1/2: within 4.5 standard errors.
    assert np.abs(counts[:4] / 2000 - 0.5).max() < 4.5 * np.sqrt(0.25 / 2000)


def test_over_all_other_constraints() -> None:
    dear = RoundConstraint(2, cost=np.array([1.0, 9.0]), budget=5.0)
    assert played(AllAvailable.start(TWO, 1), 1, np.ones(2, bool), dear).ids.tolist() == [0]
