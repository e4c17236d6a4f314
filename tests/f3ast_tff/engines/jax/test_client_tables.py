"""State of clients: on the device, in host memory, or refused."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

from benchmarks.tiny import tiny_data, with_nan_client
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.engines.jax import client_tables
from f3ast_tff.engines.jax import programs as jax_programs
from f3ast_tff.engines.jax.client_tables import ClientTables
from f3ast_tff.engines.jax.devices import find_device
from f3ast_tff.methods.parts import host_memory
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.methods.parts.update_memory import UpdateMemory
from f3ast_tff.optimizers import Sgd
from tests.f3ast_tff.methods.every_memory import EVERY, FEDVARP

N, MODEL = 6, np.arange(3, dtype=np.float32)
P = np.array([0.2, 0.2, 0.05, 0.2, 0.1, 0.25])
DATA, WORK = with_nan_client(tiny_data(), 2), LocalTraining(4, seed=3)
CPU = find_device("cpu")


def cohort(*ids: int) -> Cohort:
    return Cohort(np.array(ids, int), P[list(ids)])


COHORTS = [cohort(0, 3, 4), cohort(), cohort(3, 2, 3), cohort(1, 5, 0), cohort(2), cohort(4, 0)]


def engine(make_engine: Callable[..., Any], aggregation: Aggregation, name: str = "fused") -> Any:
    parts = (DATA, WORK, Sgd(1.0), aggregation)
    return make_engine(name, *parts, client=Sgd(0.05), p=P, cohort_size=3)


@pytest.fixture
def no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device without a spare byte."""
    monkeypatch.setattr(client_tables, "room_on", lambda device: 0)


@pytest.mark.parametrize(
    "kind",
    [
        "fedvarp",
        *(pytest.param(k, marks=pytest.mark.long) for k in ("fedawe", "amplified_scaffold")),
    ],
)
def test_host_memory_holds_the_same_bit_for_bit(
    kind: str, make_engine: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    aggregation = EVERY[kind]
    here = engine(make_engine, aggregation)
    monkeypatch.setattr(client_tables, "room_on", lambda device: 0)
    there = engine(make_engine, aggregation)
    assert here._tables.on_device and not there._tables.on_device
    tables = dict(there._tables.values)
    for one in (here, there):
        one.run_rounds(1, COHORTS)
    for name, table in tables.items():
        assert there._tables.values[name] is table
    expected, found = here.state(), there.state()
    assert expected.keys() == found.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)
    assert any(np.any(value) for name, value in found.items() if name.startswith("client_"))
    # A state from one place continues in the other.
    here.restore(dict(found))
    there.restore(dict(expected))
    for one in (here, there):
        one.run_rounds(len(COHORTS) + 1, COHORTS)
    for name, value in here.state().items():
        np.testing.assert_array_equal(there.state()[name], value, err_msg=name)


def test_the_log_says_where_they_stay(no_room: None, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        tables = ClientTables(UpdateMemory(), N, MODEL, CPU)
    assert all(isinstance(table, np.ndarray) for table in tables.values.values())
    assert f"6 clients, 0.0 GiB, stays in host memory: {CPU.device_kind}" in caplog.text


def test_on_a_device_with_room_the_log_is_silent(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        tables = ClientTables(UpdateMemory(), N, MODEL, CPU)
    assert all(isinstance(table, jax.Array) for table in tables.values.values())
    assert not caplog.records


def test_more_than_the_machine_has_is_refused(
    no_room: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """6 clients, each a model of 3 and a number of 4 bytes each, take 96; the host gives 85%."""
    monkeypatch.setattr(host_memory, "available_memory_bytes", lambda: 114)
    ClientTables(UpdateMemory(), N, MODEL, CPU)
    monkeypatch.setattr(host_memory, "available_memory_bytes", lambda: 112)
    with pytest.raises(ParameterError, match=r"num_clients = 6: what is remembered .* this mach"):
        ClientTables(UpdateMemory(), N, MODEL, CPU)


def test_room_is_part_of_what_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a GPU, a part of its allocator's free memory; for a CPU, of the machine's."""

    class Gpu:
        platform = "gpu"
        device_kind = "Some GPU"

        def memory_stats(self) -> dict[str, int]:
            return {"bytes_limit": 1000, "bytes_in_use": 900}

    monkeypatch.setattr(client_tables, "available_memory_bytes", lambda: 200)
    assert client_tables.room_on(Gpu()) == pytest.approx(70)
    assert client_tables.room_on(CPU) == pytest.approx(80)


def test_rows_on_the_device_are_those_in_host_memory(no_room: None) -> None:
    """A round reads and writes the same rows; -1 is no client, never written; 4 has two lanes."""
    tables = ClientTables(UpdateMemory(), N, MODEL, CPU)
    rng = np.random.default_rng(0)
    for table in tables.values.values():
        table[:] = rng.normal(size=table.shape)
    on_device = {name: jax.numpy.array(table) for name, table in tables.values.items()}
    before = {name: table.copy() for name, table in tables.values.items()}
    client = np.array([[4, 0], [2, -1], [4, 3]], np.int32)
    lent, row = tables.lent(client)
    lent = {name: jax.numpy.array(table) for name, table in lent.items()}
    rows = ClientTables.gather(lent, row)
    for name, value in ClientTables.gather(on_device, client).items():
        np.testing.assert_array_equal(value, rows[name])
    # The second update of client 4 is not finite.
    changed = np.array([[True, False], [True, False], [False, True]])
    kept = client_tables.ClientsKept({n: -value for n, value in rows.items()}, changed, {})
    found = ClientTables.scatter(on_device, client, kept)
    tables.take_back(client, ClientTables.scatter(lent, row, kept))
    for name, table in tables.values.items():
        np.testing.assert_array_equal(found[name], table)
        np.testing.assert_array_equal(table[[4, 2, 3]], -before[name][[4, 2, 3]])
        np.testing.assert_array_equal(table[[0, 1, 5]], before[name][[0, 1, 5]])


def test_tables_are_donated(make_engine: Callable[..., Any]) -> None:
    """A round overwrites its input, so no second copy of N models exists."""
    fused = engine(make_engine, FEDVARP)
    before = fused._tables.values["update"]
    fused.run_rounds(1, COHORTS[:1])
    assert before.is_deleted() and fused._tables.values["update"].shape == (N, 18)


@pytest.mark.parametrize(
    ("name", "programs"), [("fused", 1), pytest.param("fused_lanes", 3, marks=pytest.mark.long)]
)
def test_few_programs_for_all_rounds(
    name: str, programs: int, make_engine: Callable[..., Any]
) -> None:
    """One program also serves empty rounds and rounds below the largest cohort.

    Lanes have one program per bound: 11 steps, for 11, 9 and none; 6 for 5; and 4 for 3.
    """
    jax_programs.latest_programs.cache_clear()
    fused = engine(make_engine, FEDVARP, name)
    fused.run_rounds(1, COHORTS)
    assert fused._programs.traces == programs
