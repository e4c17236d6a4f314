"""Who a node is, and rounds that wait while no node is connected."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from flwr.app import ArrayRecord, Context, Message

from f3ast_tff import F3AST
from f3ast_tff.core.errors import EngineError
from f3ast_tff.flower import tell_partition_id
from tests.f3ast_tff.flower.in_process_grid import InProcessGrid
from tests.f3ast_tff.flower.test_availability_strategy import app_of, four, run, unit


def queried(grid: InProcessGrid) -> list[int]:
    return [k for kind, k, _ in grid.sent if kind == "query"]


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]


def test_a_second_node_of_a_client_is_warned_of_and_waits(caplog: Any) -> None:
    """Node 71 says that it is client 2, as node 72 has said before; 71 counts once 72 has left."""
    grid, strategy = InProcessGrid(app_of(unit), 4, {}), four()
    grid.connected = {0, 1, 2}
    run(grid, strategy)
    grid.connected.add(3)
    grid._contexts[grid.node[3]].node_config["partition-id"] = 2
    caplog.clear()
    before = len(grid.sent)
    run(grid, strategy, 2)
    trained = [k for kind, k, _ in grid.sent[before:] if kind == "train"]
    assert sorted(trained) == [0, 0, 1, 1, 2, 2]
    said = [each for each in warnings_of(caplog) if "left out" in each]
    assert said == ["node 71 is left out: its partition-id is 2, as of node 72, which is connected"]
    grid.connected.remove(2)
    before = len(grid.sent)
    run(grid, strategy)
    assert {k for kind, k, _ in grid.sent[before:] if kind == "train"} == {0, 1, 3}


def test_a_node_that_answers_with_an_error_is_asked_again_in_the_next_round(caplog: Any) -> None:
    """Not ten times a second; what it says stands in one line without control characters."""

    def tell(message: Message, context: Context) -> Message:
        if context.node_config["partition-id"] == 3:
            raise ValueError("\x1b[2Jno\nid" + 5000 * "x")
        return tell_partition_id(message, context)

    grid = InProcessGrid(app_of(unit, tell), 4, {})
    grid.silent["query"] = {2}
    strategy = four(answer_seconds=0.5)
    for rounds in (1, 2, 3):
        assert (run(grid, strategy) > 0).tolist() == [True, True, False, False]
        assert queried(grid).count(3) == rounds and queried(grid).count(2) == 1
    said = [each for each in warnings_of(caplog) if "does not say which client" in each]
    assert len(said) == 3 and all(each.isprintable() and len(each) < 600 for each in said)


def test_while_nobody_is_there_a_node_with_an_error_is_asked_at_that_pace() -> None:
    """In 1 second with `answer_seconds` 0.4: at 0, 0.4 and 0.8 s."""

    def tell(message: Message, context: Context) -> Message:
        raise ValueError

    grid = InProcessGrid(app_of(unit, tell), 4, {})
    grid.connected = {3}
    with pytest.raises(EngineError, match="round 1: no client was connected for 1 s"):
        run(grid, four(answer_seconds=0.4))
    assert 2 <= len(queried(grid)) <= 3


def test_errors_of_clients_stand_in_a_line_of_the_log(caplog: Any) -> None:
    def fails(k: int, t: int) -> np.ndarray:
        if k == 2:
            raise ValueError("\x1b[31m\nround 9: done \u202e")
        return unit(k, t)

    run(InProcessGrid(app_of(fails), 4, {}), four())
    (said,) = [each for each in warnings_of(caplog) if "client 2 failed" in each]
    assert said.isprintable() and "round 9" in said


class LeavingGrid(InProcessGrid):
    """Nodes of `leaving` leave between the list of nodes and the next message to them."""

    leaving: tuple[int, ...] = ()

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        gone = {self.node[k] for k in self.leaving}
        self.connected -= set(self.leaving)
        found: list[str | None] = []
        for message in messages:
            lost = message.metadata.dst_node_id in gone
            found += [None] if lost else super().push_messages([message])
        return found  # type: ignore[return-value]

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        assert None not in list(message_ids)
        return super().pull_messages(message_ids)


@pytest.mark.parametrize("from_round", [1, 2])
def test_a_node_that_leaves_before_its_message_does_not_end_the_server(from_round: int) -> None:
    grid, strategy = LeavingGrid(app_of(unit), 4, {}), four()
    if from_round == 2:
        run(grid, strategy)
    grid.leaving = (1,)
    assert (run(grid, strategy) > 0).tolist() == [True, False, True, True]


def test_without_a_client_no_round_begins() -> None:
    """The rates stay; `start` ends with an error that names round and limit."""
    grid, strategy = InProcessGrid(app_of(unit), 4, {}), F3AST.start(np.full(4, 0.25), 4)
    grid.connected, before = set(), strategy.participation_rates()
    for given, seconds in (({}, 1), ({"wait_seconds": 0.2}, 0.2)):
        with pytest.raises(EngineError, match=f"round 1: no client was connected for {seconds} s"):
            run(grid, four(strategy, answer_seconds=0.1, **given), 2)
    np.testing.assert_array_equal(strategy.participation_rates(), before)
    assert grid.sent == []


class OutGrid(InProcessGrid):
    """A grid whose link is out for some seconds after round 2."""

    until: float | None = None
    seconds = 0.0

    def get_node_ids(self) -> Iterable[int]:
        if self.until is None and any(t == 2 and kind == "train" for kind, _, t in self.sent):
            self.until = time.monotonic() + self.seconds
        out = self.until is not None and time.monotonic() < self.until
        return [] if out else super().get_node_ids()


def test_an_outage_of_the_link_is_not_the_absence_of_clients(tmp_path: Any) -> None:
    """Models and rates are those of rounds without the outage, far longer than `answer_seconds`."""
    found = []
    for seconds in (0.0, 1.5):
        grid = OutGrid(app_of(unit), 4, {})
        grid.seconds, method = seconds, F3AST.start(np.full(4, 0.25), 2, rate_beta=0.5)
        file = tmp_path / f"{seconds}.npz"
        server = four(method, clients_per_round=2, answer_seconds=0.01, state_file=file)
        result = server.start(grid, ArrayRecord([np.zeros(4)]), 6, timeout=20)
        found.append((result.arrays.to_numpy_ndarrays()[0], method.participation_rates()))
        with np.load(file) as saved:
            assert saved["round"] == 6
    for one, other in zip(*found):
        np.testing.assert_array_equal(one, other)
