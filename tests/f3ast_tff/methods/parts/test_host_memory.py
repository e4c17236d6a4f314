"""Properties of each memory, on NumPy arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pytest

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.engines.host.rules_in_numpy import RulesInNumpy, Train, updates_of
from f3ast_tff.methods.parts import host_memory
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.host_memory import (
    Delivered,
    HostMemory,
    check_room,
    flat,
    initial_tables,
    leaves_of,
    table_bytes,
)
from f3ast_tff.methods.parts.memory import Client, ClientLosses, CohortSums, Memory
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.methods.parts.update_memory import UpdateMemory
from tests.f3ast_tff.methods.every_memory import AMPLIFIED, EVERY, OF_CLIENTS

N, SIZE = 5, 3
P = np.array([0.1, 0.3, 0.2, 0.15, 0.25])
START = np.array([1.0, -2.0, 0.5], np.float32)
State = dict[str, np.ndarray]
every = pytest.mark.parametrize("aggregation", EVERY.values(), ids=EVERY)
of_clients = pytest.mark.parametrize("aggregation", OF_CLIENTS.values(), ids=OF_CLIENTS)


def towards_optima(k: int, model: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """One step of rate 0.1 on |w - k|^2 / 2."""
    return -0.1 * (model - k + offset)


def play(
    rules: RulesInNumpy, rounds: range, train: Train = towards_optima, broken: int | None = None
) -> None:
    """Rounds of up to three clients, some with a client twice; `broken` is in each round."""
    for t in rounds:
        rng = np.random.default_rng(t)
        ids = rng.integers(N - 1, size=t % 4)
        if broken is not None:
            ids = np.append(ids, broken)
        rules.round(t, Cohort(ids, rng.random(len(ids)) + 0.1), train, rate=0.1)


def copied(state: State) -> State:
    return {name: value.copy() for name, value in state.items()}


def assert_equal(state: State, other: State) -> None:
    assert state.keys() == other.keys()
    for name, value in state.items():
        np.testing.assert_array_equal(value, other[name], err_msg=name)


@every
def test_state_brings_everything_back(aggregation: Aggregation) -> None:
    """Arrays read from a file may be read-only."""
    rules, other = (RulesInNumpy(aggregation, P, START) for _ in range(2))
    play(rules, range(1, 8))
    assert rules.memory is not None and other.memory is not None
    saved = copied(rules.kept)
    for value in saved.values():
        value.flags.writeable = False
    other.memory.restore(saved)
    other.model = rules.model
    play(rules, range(8, 15))
    play(other, range(8, 15))
    np.testing.assert_array_equal(rules.model, other.model)
    assert_equal(rules.kept, other.kept)


@every
def test_values_stay_in_single_precision(aggregation: Aggregation) -> None:
    """Shapes and dtypes stay those of the start, since checkpoints are compared with them."""
    rules = RulesInNumpy(aggregation, P, START)
    before = {name: (value.shape, value.dtype) for name, value in rules.kept.items()}
    play(rules, range(1, 8))
    assert {name: (value.shape, value.dtype) for name, value in rules.kept.items()} == before
    # Some rules only set how clients start, and keep nothing.
    keeps = aggregation in (*OF_CLIENTS.values(), AMPLIFIED)
    assert {dtype for _, dtype in before.values()} == ({np.dtype(np.float32)} if keeps else set())


@of_clients
def test_tables_are_written_in_place(aggregation: Aggregation) -> None:
    rules = RulesInNumpy(aggregation, P, START)
    before = {name: value for name, value in rules.kept.items() if name.startswith("client_")}
    play(rules, range(1, 8))
    assert before
    for name, table in before.items():
        assert rules.kept[name] is table and len(table) == N
        assert table.dtype == np.float32


@of_clients
def test_restored_tables_are_taken_not_copied(aggregation: Aggregation) -> None:
    """A copy of a checkpoint as large as memory allows would not fit."""
    rules = RulesInNumpy(aggregation, P, START)
    saved = copied(rules.kept)
    tables = {name: value for name, value in saved.items() if name.startswith("client_")}
    assert rules.memory is not None
    rules.memory.restore(saved)
    assert not tables.keys() & saved.keys()
    for name, table in tables.items():
        assert rules.kept[name] is table


@every
def test_a_client_that_breaks_is_as_if_it_had_not_been_there(aggregation: Aggregation) -> None:
    def broken(k: int, model: np.ndarray, offset: np.ndarray) -> np.ndarray:
        update = towards_optima(k, model, offset)
        return np.full(SIZE, np.inf) if k == N - 1 else update

    rules, other = (RulesInNumpy(aggregation, P, START) for _ in range(2))
    play(rules, range(1, 15), broken, broken=N - 1)
    play(other, range(1, 15))
    np.testing.assert_array_equal(rules.model, other.model)
    assert_equal(rules.kept, other.kept)


@every
def test_a_rejected_round_leaves_no_trace(aggregation: Aggregation) -> None:
    """Updates of 1e38 are finite, but their sum with weights 10 and 20 is not."""
    rules = RulesInNumpy(aggregation, P, START)
    # Round 5 ends no period of 3; the end of a period would keep its start.
    play(rules, range(1, 5))
    before, model = copied(rules.kept), rules.model.copy()
    cohort = Cohort(np.array([0, 1]), np.array([10.0, 20.0]))
    huge = updates_of(np.full((N, SIZE), 1e38, np.float32))
    with np.errstate(over="ignore", invalid="ignore"):
        _, advanced = rules.round(5, cohort, huge, rate=0.1)
    assert advanced is not None
    if aggregation is EVERY["mifa_waits"]:
        # It does not step before each client has taken part, so there is nothing to reject.
        assert advanced.keeps and not advanced.moves
        return
    assert not advanced.moves and not advanced.keeps
    np.testing.assert_array_equal(rules.model, model)
    assert_equal(rules.kept, before)


def test_an_amplified_model_that_overflows_is_as_before_the_period_ended() -> None:
    """Round 3 moves by a finite 3e38, twice that overflows: the round counts, the end does not."""
    rules = RulesInNumpy(AMPLIFIED, P, np.zeros(SIZE))
    huge = updates_of(np.full((N, SIZE), 3e38, np.float32))
    with np.errstate(over="ignore"):
        _, advanced = rules.round(3, Cohort(np.array([0]), np.ones(1)), huge)
    assert advanced is not None and advanced.moves and not advanced.fits
    np.testing.assert_array_equal(rules.model, np.full(SIZE, 3e38, np.float32))
    np.testing.assert_array_equal(rules.kept["server_period_start"], np.zeros(SIZE))


def test_a_part_of_the_model_takes_its_length_alone() -> None:
    """Coordinates 0 and 2 of 3: 5 clients take 40 bytes, and start as the model."""

    class Parts(Memory):
        parts = {"own": ((0, 1), (2, 3))}

    assert table_bytes(Parts(), N, SIZE) == 40
    (table,) = initial_tables(Parts(), N, START.astype(np.float64)).values()
    np.testing.assert_array_equal(table, [[1.0, 0.5]] * N)
    assert table.dtype == np.float32


def test_more_than_the_machine_has_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """5 clients, each a model of 3 and a number of 4 bytes each, take 80; the host gives 85%."""
    rules = UpdateMemory()
    assert table_bytes(rules, N, SIZE) == 80
    assert sum(table.nbytes for table in initial_tables(rules, N, START).values()) == 80
    monkeypatch.setattr(host_memory, "available_memory_bytes", lambda: 95)
    HostMemory(rules, P, START, 1.0)
    monkeypatch.setattr(host_memory, "available_memory_bytes", lambda: 94)
    with pytest.raises(ParameterError, match=r"num_clients = 5: what is remembered .* takes 0.0 G"):
        HostMemory(rules, P, START, 1.0)


def test_clients_may_take_all_that_the_host_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    """85% of 2 GiB are 1.7."""
    monkeypatch.setattr(host_memory, "available_memory_bytes", lambda: 100)
    check_room(85, N)
    monkeypatch.setattr(host_memory, "available_memory_bytes", lambda: 2**31)
    with pytest.raises(ParameterError) as caught:
        check_room(3 * 2**30, N)
    assert str(caught.value) == (
        "num_clients = 5: what is remembered of these clients takes 3.0 GiB, this machine has 1.7 "
        "to spare"
    )


def test_vectors_hold_arrays_side_by_side() -> None:
    leaves = [np.arange(6.0).reshape(2, 3), np.array(6.0), np.array([7.0, 8.0])]
    np.testing.assert_array_equal(flat(leaves), np.arange(9.0))
    for cut, leaf in zip(leaves_of(np.arange(9.0), leaves), leaves):
        np.testing.assert_array_equal(cut, leaf)
        assert cut.shape == leaf.shape


def test_tables_start_at_zero_or_at_the_model() -> None:
    class Starts(Memory):
        vectors: ClassVar[Mapping[str, str]] = {"y": "zero", "x": "model"}
        numbers: ClassVar[tuple[str, ...]] = ("n",)

    tables = {name: table.tolist() for name, table in initial_tables(Starts(), 2, START).items()}
    assert tables == {"y": [[0.0] * 3] * 2, "x": [START.tolist()] * 2, "n": [0.0] * 2}


class InDouble(Memory):
    """Rules that return arrays of double precision."""

    vectors: ClassVar[Mapping[str, str]] = {"y": "model"}
    averages: ClassVar[tuple[str, ...]] = ("y",)
    server_vectors: ClassVar[Mapping[str, str]] = {"z": "model"}

    def after_client(self, client: Client, update: Any, server: Any, now: Any) -> dict[str, Any]:
        return {"y": update.astype(np.float64) / now.learning_rate}

    def message(self, client: Client, update: Any, losses: ClientLosses, now: Any) -> Any:
        assert client.share.dtype == np.float32
        factor = client.steps * losses.trained + now.round_number
        return np.float64(client.weight) * update + client.share, factor

    def aggregated(self, delta: Any, server: Any, now: Any) -> Any:
        return delta + server["z"].astype(np.float64)

    def correction(self, server: Any, now: Any) -> Any:
        return 2 * server["z"].astype(np.float64)

    def end_round(self, server: Any, model: Any, now: Any) -> Any:
        return server, model.astype(np.float64)

    def evaluated(self, server: Any, model: Any) -> Any:
        return model - server["z"].astype(np.float64)

    def own_model(self, kept: Any, server: Any, model: Any, xp: Any) -> Any:
        return model + 3 * kept["y"] - xp.float64(server["z"])


UPDATES = np.array([[1, 2, 3], [np.nan, 0, 0], [4, 8, -4]], np.float32)


def assert_single(found: np.ndarray, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert found.dtype == np.float32


def test_rules_give_single_precision() -> None:
    memory = HostMemory(InDouble(), P, START, 0.5)
    now = memory.now(1, 0.1, START)
    assert (now.round_number, now.server_rate, now.num_clients) == (1, 0.5, N)
    assert_single(memory.aggregated(UPDATES[0], now), UPDATES[0] + START)
    assert_single(memory.correction(now), 2 * START)
    assert_single(memory.evaluated(4 * START), 3 * START)
    assert_single(memory.own_model(2, START), 3 * START)
    assert_single(HostMemory(Memory(), P, START, 1.0).correction(now), np.zeros(SIZE))


def test_messages_by_hand() -> None:
    """Clients 2 and 0 of shares 0.2 and 0.1; factors 3 * 0.5 + 7 and 1 * 2 + 7."""
    memory = HostMemory(InDouble(), P, START, 1.0)
    losses = [ClientLosses(0.5, np.nan), ClientLosses(2.0, np.nan)]
    vectors, factors = memory.messages(
        ids=np.array([2, 0]),
        steps=np.array([3, 1]),
        weights=np.array([10, 0.5], np.float32),
        updates=UPDATES[[0, 2]],
        losses=losses,
        now=memory.now(7, 0.1, START),
    )
    assert_single(vectors, [[10.2, 20.2, 30.2], [2.1, 4.1, -1.9]])
    assert_single(factors, [8.5, 9])


def test_late_updates_have_their_own_rates() -> None:
    """Clients 3 and 4 at rates 1/2 and 1/4; client 0, between them, sends no finite update."""
    memory = HostMemory(InDouble(), P, START, 1.0)
    finite, steps = np.array([True, False, True]), np.array([2, 7, 4])
    now = memory.now(1, 0.1, START)
    now = memory.after_training(now, np.array([0.5, 9, 0.25]), steps, finite)
    assert now.cohort == CohortSums(0.75, 2.0)
    rates = np.array([0.5, 1.0, 0.25])
    delivered = Delivered(
        ids=np.array([3, 0, 4]),
        finite=finite,
        updates=UPDATES,
        steps=steps,
        delta=START,
        model=2 * START,
        fine=True,
        rates=rates,
    )
    advanced = memory.advance(delivered, now)
    assert_single(advanced.closed, 2 * START)
    expected = np.array([START, START, START, [2, 4, 6], [16, 32, -16]])
    assert_single(memory.state()["client_y"], expected)
    assert_single(memory.state()["server_average_y"], P @ expected)
