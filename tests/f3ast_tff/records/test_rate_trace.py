"""The trace of participation rates."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.core.cluster_rates import ClusterRates
from f3ast_tff.core.rates import ParticipationRates
from f3ast_tff.methods.f3ast import F3AST
from f3ast_tff.methods.fedavg import Uniform
from f3ast_tff.records.history import MAX_CLIENTS, MAX_ROUNDS, RateTrace, traced_rounds


def f3ast(n: int) -> F3AST:
    return F3AST.tracking(np.full(n, 1 / n), ParticipationRates(np.linspace(0.1, 0.9, n), 0.25))


@pytest.mark.parametrize(
    ("rounds", "eval_every", "expected"),
    [
        (7, 3, [3, 6, 7]),
        (6, 3, [3, 6]),
        (2, 10, [2]),
        (1000, 10, list(range(10, 1001, 10))),
        (1000, 1, list(range(5, 1001, 5))),
        (201, 1, list(range(1, 202, 2))),
    ],
)
def test_evaluated_rounds_at_most_so_many(
    rounds: int, eval_every: int, expected: list[int]
) -> None:
    assert traced_rounds(rounds, eval_every) == expected
    assert len(expected) <= MAX_ROUNDS


def test_trace_by_hand_and_restored() -> None:
    strategy = f3ast(2)
    trace = RateTrace(strategy, 2, rounds=4, eval_every=2)
    for t, ids in enumerate(([0], [1], [], [0]), start=1):
        strategy.rates.update(np.array(ids, np.int64))
        trace.record(t, strategy)
        if t == 2:
            resumed = RateTrace(f3ast(2), 2, rounds=4, eval_every=2)
            resumed.restore({name: value.copy() for name, value in trace.arrays().items()})
        elif t > 2:
            resumed.record(t, strategy)
    arrays = trace.arrays()
    assert arrays["initial_rates"].tolist() == [0.1, 0.9]
    assert arrays["rate_rounds"].tolist() == [2, 4]
    # r_0: 0.325, 0.24375 | 0.1828125, 0.387109375; r_1: 0.675, 0.75625 | 0.5671875, 0.425390625.
    expected = [[0.24375, 0.75625], [0.387109375, 0.425390625]]
    np.testing.assert_allclose(arrays["rates"], expected, rtol=1e-6)
    for name, value in resumed.arrays().items():
        np.testing.assert_array_equal(value, arrays[name])
        assert value.dtype == arrays[name].dtype


def test_clusters_tell_the_rate_of_each_client() -> None:
    rates = ParticipationRates(np.array([0.25, 0.5]), 0.1)
    strategy = F3AST.tracking(np.full(4, 0.25), ClusterRates(np.array([1, 0, 0, 1]), rates))
    assert strategy.participation_rates().tolist() == [0.5, 0.25, 0.25, 0.5]


def test_strategy_without_rates_leaves_nothing() -> None:
    strategy = Uniform.start(np.full(3, 1 / 3), 1)
    trace = RateTrace(strategy, 3, 4, 2)
    trace.record(2, strategy)
    assert trace.arrays() == {}


def test_of_many_clients_only_the_initial_rates() -> None:
    strategy = f3ast(MAX_CLIENTS + 1)
    trace = RateTrace(strategy, MAX_CLIENTS + 1, 4, 2)
    trace.record(2, strategy)
    assert list(trace.arrays()) == ["initial_rates"]
