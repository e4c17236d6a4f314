"""Runs for workers: none idle, no run twice, lost workers replaced, all closed at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from f3ast_tff.campaigns.pool import Worker, execute_all
from f3ast_tff.campaigns.runs import FAILED, FINISHED, LOST, Outcome, PlannedRun
from f3ast_tff.settings.resolve import resolve


class FakeWorkers:
    """Workers that end runs in the order of their start; the runs named in `kill` are lost.

    Attributes:
        slots: See `Workers`.
        made: All workers so far.
        most: Largest number of workers open at a time.
    """

    def __init__(self, slots: int, kill: Sequence[str] = (), fail: Sequence[str] = ()) -> None:
        self.slots = slots
        self.made: list[FakeWorker] = []
        self.most = 0
        self._kill = list(kill)
        self._fail = fail

    def start(self, environment: tuple[str, str]) -> FakeWorker:
        self.made.append(FakeWorker(self, f"worker {len(self.made)}", environment))
        self.most = max(self.most, sum(not worker.closed for worker in self.made))
        return self.made[-1]

    def ended(self, busy: Sequence[Worker], seconds: float) -> list[Worker]:
        assert 1 <= len(busy) <= self.slots
        return [busy[0]]

    def end(self, worker: FakeWorker) -> Outcome:
        name = worker.runs[-1].name
        state, error = FINISHED, None
        if name in self._kill:
            self._kill.remove(name)
            state, error = LOST, "killed"
        elif name in self._fail:
            state, error = FAILED, "no luck"
        return Outcome(state, error, "", "", 1.0, worker.name)


class FakeWorker:
    """Records its runs."""

    def __init__(self, of: FakeWorkers, name: str, environment: tuple[str, str]) -> None:
        self.name = name
        self.environment = environment
        self.runs: list[PlannedRun] = []
        self.closed = False
        self._of = of

    def submit(self, run: PlannedRun) -> None:
        assert not self.closed
        assert run.environment == self.environment
        self.runs.append(run)

    def outcome(self) -> Outcome:
        return self._of.end(self)

    def close(self) -> None:
        self.closed = True


class Notes:
    """A watcher that takes notes.

    Attributes:
        ends: State and error by run.
        begun: Names of runs, once per start.
    """

    def __init__(self, interrupt_at: int | None = None) -> None:
        self.ends: dict[str, tuple[str, str | None]] = {}
        self.begun: list[str] = []
        self._interrupt_at = interrupt_at

    def started(self, run: PlannedRun, worker: Worker) -> None:
        self.begun.append(run.name)
        if len(self.begun) == self._interrupt_at:
            raise KeyboardInterrupt

    def ended(self, run: PlannedRun, outcome: Outcome) -> None:
        assert run.name not in self.ends
        self.ends[run.name] = (outcome.state, outcome.error)

    def tick(self) -> None:
        return


def planned(*names: str, **given: Any) -> list[PlannedRun]:
    return [PlannedRun(name, resolve({"run_name": name, **given})) for name in names]


def test_every_run_is_executed_once_and_workers_are_kept() -> None:
    workers, notes = FakeWorkers(2), Notes()
    execute_all(planned(*"abcde"), workers, notes)
    assert notes.ends == dict.fromkeys("abcde", (FINISHED, None))
    assert sorted(notes.begun) == list("abcde")
    assert len(workers.made) == 2
    assert all(worker.closed and worker.runs for worker in workers.made)


def test_no_more_workers_than_runs() -> None:
    workers = FakeWorkers(8)
    execute_all(planned("a"), workers, Notes())
    assert len(workers.made) == 1
    execute_all([], workers, Notes())
    assert len(workers.made) == 1


def test_a_failed_run_leaves_the_others_and_its_worker_alone() -> None:
    workers, notes = FakeWorkers(1, fail="b"), Notes()
    execute_all(planned(*"abc"), workers, notes)
    assert notes.ends == {"a": (FINISHED, None), "b": (FAILED, "no luck"), "c": (FINISHED, None)}
    assert len(workers.made) == 1


def test_a_lost_worker_is_replaced_and_its_run_tried_again_once() -> None:
    workers, notes = FakeWorkers(2, kill=["b", "d", "d"]), Notes()
    execute_all(planned(*"abcde"), workers, notes)
    assert notes.ends.pop("d") == (FAILED, "killed; tried 2 times")
    assert notes.ends == dict.fromkeys("abce", (FINISHED, None))
    assert sorted(notes.begun) == list("abbcdde")
    assert len(workers.made) == 2 + 2
    assert workers.most == 2
    assert all(worker.closed for worker in workers.made)


def test_runs_that_set_frameworks_up_differently_share_no_process() -> None:
    workers, notes = FakeWorkers(2), Notes()
    runs = [
        *planned("a", engine="tff"),
        *planned("b", "c", device="cpu"),
        *planned("d", engine="tff"),
        *planned("e", device="gpu"),
    ]
    execute_all(runs, workers, notes)
    assert set(notes.ends) == set("abcde")
    assert workers.most == 2
    assert {worker.environment for worker in workers.made} == {run.environment for run in runs}


def test_ctrl_c_ends_all_workers() -> None:
    workers, notes = FakeWorkers(2), Notes(interrupt_at=3)
    with pytest.raises(KeyboardInterrupt):
        execute_all(planned(*"abcde"), workers, notes)
    assert workers.made and all(worker.closed for worker in workers.made)


def test_a_run_that_may_not_start_is_left() -> None:
    workers, notes = FakeWorkers(1), Notes()
    execute_all(planned(*"abcd"), workers, notes, lambda run: run.name in "bd")
    assert notes.begun == ["b", "d"]
    execute_all(planned(*"ab"), workers, notes, lambda run: False)
    assert notes.begun == ["b", "d"]


def test_environments_keep_the_order_of_the_runs() -> None:
    workers, notes = FakeWorkers(1), Notes()
    tff = planned("a", "c", engine="tff")
    execute_all([tff[0], *planned("b"), tff[1]], workers, notes)
    assert notes.begun == ["a", "c", "b"]
