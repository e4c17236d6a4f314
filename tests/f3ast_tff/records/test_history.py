"""The record of available, selected and delivered clients, of rates, and of clients left out."""

from __future__ import annotations

import logging
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff import FederatedData, simulate
from f3ast_tff.core.cluster_rates import ClusterRates
from f3ast_tff.core.rates import ParticipationRates
from f3ast_tff.files.data_files import read_json
from f3ast_tff.methods.f3ast import F3AST
from f3ast_tff.methods.fedavg import Uniform
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.records.delivered import RoundDelivery
from f3ast_tff.records.history import (
    MAX_CLIENTS,
    MAX_ROUNDS,
    RateTrace,
    SelectionHistory,
    traced_rounds,
)
from f3ast_tff.records.left_out import left_out, said
from f3ast_tff.run.run_experiment import run_experiment
from f3ast_tff.settings.resolve import resolve


def asked(
    num_available: int,
    ids: list[int],
    weights: list[float],
    delivered: list[bool] | None = None,
    seconds: float = math.nan,
) -> RoundDelivery:
    """Asked clients, with weights of the delivered ones, by default all; 10 bytes each way."""
    came = np.array([True] * len(ids) if delivered is None else delivered, bool)
    every = np.array(ids, np.int64)
    cohort = Cohort(every[came], np.array(weights, np.float64))
    return RoundDelivery(
        num_available, every, came, cohort, seconds, 10 * len(ids), 10 * len(cohort)
    )


def four_rounds() -> SelectionHistory:
    """Two clients; no client; three, all dropped; one, whose update is dropped."""
    history = SelectionHistory()
    history.append(asked(5, [4, 1], [0.5, 0.25]), 0, False)
    history.append(asked(0, [], []), 0, True)
    history.append(asked(9, [0, 7, 7], [1.0, 2.0, 3.0]), 3, True)
    history.append(asked(1, [2], [8.0]), 1, True)
    return history


def two_rounds_with_losses() -> SelectionHistory:
    """One of three is delivered, weight 0.5, in 20 s; then the only client is lost, in 30 s."""
    history = SelectionHistory()
    history.append(asked(6, [4, 1, 3], [0.5], [False, True, False], 20.0), 0, False)
    history.append(asked(6, [2], [], [False], 30.0), 0, True)
    return history


def test_arrays_of_clients_by_hand() -> None:
    arrays = four_rounds().arrays()
    assert arrays["num_available"].tolist() == [5, 0, 9, 1]
    assert arrays["num_selected"].tolist() == arrays["num_delivered"].tolist() == [2, 0, 3, 1]
    assert arrays["num_dropped"].tolist() == [0, 0, 3, 1]
    assert arrays["rejected"].tolist() == [False, True, True, True]
    assert arrays["selected"].tolist() == [[4, 1, -1], [-1, -1, -1], [0, 7, 7], [2, -1, -1]]
    np.testing.assert_array_equal(arrays["delivered"], arrays["selected"] >= 0)
    assert arrays["weights"].tolist() == [[0.5, 0.25, 0], [0, 0, 0], [1, 2, 3], [8, 0, 0]]
    assert arrays["weight_sum"].tolist() == [0.75, 0, 6, 8]
    assert arrays["selected"].dtype == np.int64


def test_counts_by_hand() -> None:
    """An empty round leaves the model alone too, but counts as empty instead of rejected."""
    history = four_rounds()
    assert (history.num_empty, history.num_dropped, history.num_rejected) == (1, 4, 2)
    assert history.num_lost == 0


def test_lost_updates_by_hand() -> None:
    history = two_rounds_with_losses()
    arrays = history.arrays()
    assert arrays["selected"].tolist() == [[4, 1, 3], [2, -1, -1]]
    assert arrays["delivered"].tolist() == [[False, True, False], [False, False, False]]
    assert arrays["weights"].tolist() == [[0, 0.5, 0], [0, 0, 0]]
    assert arrays["weight_sum"].tolist() == [0.5, 0]
    assert (arrays["num_selected"].tolist(), arrays["num_delivered"].tolist()) == ([3, 1], [1, 0])
    assert arrays["round_seconds"].tolist() == [20, 30]
    assert (arrays["bytes_down"].tolist(), arrays["bytes_up"].tolist()) == ([30, 10], [10, 0])
    assert history.total == (40, 10, 50.0)
    assert (history.num_lost, history.num_empty, history.num_rejected) == (3, 1, 0)


def test_restored_history_goes_on() -> None:
    for make in (four_rounds, two_rounds_with_losses):
        whole, restored = make(), SelectionHistory()
        restored.restore(make().arrays())
        for history in (whole, restored):
            last = asked(2, [3, 5, 6, 8], [1, 2, 3], [True, True, False, True], 7.0)
            history.append(last, 0, False)
        for name, array in whole.arrays().items():
            np.testing.assert_array_equal(restored.arrays()[name], array)
            assert restored.arrays()[name].dtype == array.dtype
        assert restored.num_rejected == whole.num_rejected
        np.testing.assert_array_equal(restored.total, whole.total)


def test_no_round_and_only_empty_rounds() -> None:
    history = SelectionHistory()
    assert history.arrays()["selected"].shape == (0, 0)
    history.append(asked(0, [], []), 0, True)
    assert history.arrays()["selected"].shape == (1, 0)
    restored = SelectionHistory()
    restored.restore(history.arrays())
    assert restored.num_empty == 1


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


def data_of(labels: list[int], clients: list[int]) -> FederatedData:
    return FederatedData.from_arrays(np.zeros((len(labels), 1)), labels, clients, test=None)


# Client 0 has 6 examples of class 0 and 2 of class 1; client 1 has 2 and none; client 2 none and 6.
DATA = data_of([0] * 6 + [1] * 2 + [0] * 2 + [1] * 6, [0] * 8 + [1] * 2 + [2] * 6)


def played_rounds(selected: list[list[int]], delivered: list[list[int]]) -> dict[str, np.ndarray]:
    return {"selected": np.array(selected), "delivered": np.array(delivered, bool)}


def test_a_client_left_out_by_hand() -> None:
    """Client 0 arrives in 2 of 6 rounds, half of the data, 3/4 of class 0, 1/4 of class 1.

    Client 1 arrives in 3 of 6, client 2 in 5 of 5. The seventh round, in which nobody arrives,
    does not count.
    """
    played = played_rounds(
        [[0, 1, 2]] * 5 + [[0, 1, -1], [0, 1, 2]],
        [[1, 0, 1], [1, 0, 1], [0, 1, 1], [0, 1, 1], [0, 0, 1], [0, 1, 0], [0, 0, 0]],
    )
    (found,) = left_out(played, DATA, ["A", "B", "C"])
    assert found == {
        "client": "A",
        "asked": 6,
        "delivered": 2,
        "examples": 0.5,
        "classes": {"0": 0.75, "1": 0.25},
    }
    line = said([found])
    assert line == (
        "left out most of the time: A (2 of the 6 rounds that asked it; 50% of the data, "
        "75% of class 0, 25% of class 1)"
    )


def test_a_late_update_is_none_left_out() -> None:
    played = played_rounds([[0, 1]] * 6, [[1, 0]] * 6) | {"late_clients": np.full((6, 1), 1)}
    assert left_out(played, DATA) == []


def test_a_client_drawn_twice_counts_once() -> None:
    played = played_rounds([[0, 0, 1]] * 5, [[0, 0, 1]] * 5)
    assert [(each["client"], each["asked"]) for each in left_out(played, DATA)] == [("0", 5)]


@pytest.mark.parametrize(("rounds", "named"), [(29, False), (30, True)])
def test_a_client_that_is_never_asked_in_a_long_run(rounds: int, named: bool) -> None:
    """Two of three clients, so that 30 rounds ask 20 per client."""
    found = left_out(played_rounds([[0, 1]] * rounds, [[1, 1]] * rounds), DATA)
    assert [each["client"] for each in found] == (["2"] if named else [])


def test_values_have_no_classes() -> None:
    values = FederatedData.from_arrays(np.zeros((4, 1)), np.zeros(4), [0, 0, 1, 1], num_classes=0)
    (found,) = left_out(played_rounds([[0, 1]] * 5, [[1, 0]] * 5), values)
    assert "classes" not in found


def test_a_run_says_and_keeps_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The largest client, with 8 times the images of the others, is never among the first two."""
    given: dict[str, Any] = {
        "num_clients": 3,
        "clients_per_round": 3,
        "availability": "always",
        "delivery": "quorum",
        "quorum": 2,
        "device_example_spread": 0.0,
        "device_kbps_spread": 0.0,
        "rounds": 6,
        "engine": "host",
        "seed": 1,
    }
    configuration = resolve(given)
    with caplog.at_level(logging.WARNING):
        found = run_experiment(configuration, tmp_path / "run").summary["left_out"]
    assert read_json(tmp_path / "run" / "summary.json")["left_out"] == found
    assert all(2 * each["delivered"] < each["asked"] for each in found)
    assert caplog.text.count("left out most of the time: ") == 1


def test_a_run_in_which_all_arrive_says_nothing() -> None:
    assert "left_out" not in simulate(rounds=6, clients_per_round=3, engine="host").summary
