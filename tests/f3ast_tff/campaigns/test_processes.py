"""Runs for workers: none idle, none twice, lost ones replaced; the GPU of each process."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from f3ast_tff.campaigns import processes
from f3ast_tff.campaigns.pool import Worker, execute_all
from f3ast_tff.campaigns.processes import (
    FRACTION,
    VISIBLE,
    LocalProcess,
    LocalProcesses,
    default_processes,
    gpu_variables,
    guard,
    start_guarded,
    uses_gpu,
    visible_gpus,
)
from f3ast_tff.campaigns.runs import FAILED, FINISHED, LOST, Outcome, PlannedRun
from f3ast_tff.settings.resolve import resolve

ON_GPU, ON_CPU = ("fused", "auto"), ("fused", "cpu")


@pytest.mark.parametrize(
    ("named", "found"),
    [
        ("0,1", ["0", "1"]),
        (" 2 , GPU-8f ", ["2", "GPU-8f"]),
        ("", []),
        ("-1", []),
        ("0,-1,1", ["0"]),
    ],
)
def test_what_the_environment_names(named: str, found: list[str]) -> None:
    assert visible_gpus({VISIBLE: named}) == found


@pytest.mark.parametrize(("says", "found"), [("echo 0; echo 1", ["0", "1"]), ("exit 9", [])])
def test_what_the_driver_names(
    says: str, found: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\n{says}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert visible_gpus({}) == found
    tool.unlink()
    assert visible_gpus({}) == []


def test_runs_that_take_a_gpu() -> None:
    assert uses_gpu(ON_GPU) and uses_gpu(("tff", "gpu"))
    assert not uses_gpu(ON_CPU) and not uses_gpu(("tff", "auto"))


def test_one_process_a_gpu_and_else_one_a_core(monkeypatch: pytest.MonkeyPatch) -> None:
    cores = len(os.sched_getaffinity(0))
    monkeypatch.setenv(VISIBLE, "0,1,2,3,4")
    assert default_processes([ON_CPU, ON_GPU]) == 5
    assert default_processes([ON_CPU]) == cores
    monkeypatch.setenv(VISIBLE, "")
    assert default_processes([ON_GPU]) == cores


def test_the_gpu_with_the_fewest_processes_and_an_equal_share_of_its_memory() -> None:
    gpus = ["0", "1"]
    assert gpu_variables(gpus, [], 2, {}) == {VISIBLE: "0"}
    assert gpu_variables(gpus, ["0"], 2, {}) == {VISIBLE: "1"}
    # 5 processes on 2 GPUs: up to 3 on one GPU, 0.9 / 3 for each.
    assert gpu_variables(gpus, ["0", "1", "1"], 5, {}) == {VISIBLE: "0", FRACTION: "0.300"}
    assert gpu_variables(gpus, [], 5, {FRACTION: "0.2"}) == {VISIBLE: "0"}


class FakeProcess:
    """Replaces `LocalProcess`."""

    def __init__(self, campaign: Path, provenance: Any, variables: dict[str, str]) -> None:
        self.variables = variables
        self.gpu = variables.get(VISIBLE, "")
        self.alive = True


def test_a_process_that_has_ended_leaves_its_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VISIBLE, "6,7")
    monkeypatch.delenv(FRACTION, raising=False)
    monkeypatch.setattr(processes, "LocalProcess", FakeProcess)
    workers = LocalProcesses(2, tmp_path, {})
    started: list[Any] = [workers.start(ON_GPU), workers.start(ON_GPU), workers.start(ON_CPU)]
    assert [process.gpu for process in started] == ["6", "7", ""]
    assert started[0].variables == {VISIBLE: "6"}
    started[1].alive = False
    assert workers.start(ON_GPU).gpu == "7"
    monkeypatch.setenv(VISIBLE, "")
    assert LocalProcesses(2, tmp_path, {}).start(ON_GPU).gpu == ""


def test_a_process_without_a_run_ends_by_itself(tmp_path: Path) -> None:
    """TensorFlow needs this to remove its temporary files: `os._exit` would skip it."""
    process = LocalProcess(tmp_path, {})
    process.close()
    assert process._process.exitcode == 0


def answer(pipe: Connection) -> None:
    guard()
    pipe.send("there")
    pipe.send(pipe.recv())


def test_ctrl_c_does_not_reach_a_guarded_process() -> None:
    """Neither while the process starts nor later."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=answer, args=(theirs,), daemon=True)
    start_guarded(process)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGINT)
    assert ours.recv() == "there"
    os.kill(process.pid, signal.SIGINT)
    ours.send("still there")
    assert ours.recv() == "still there"
    process.join()
    assert process.exitcode == 0


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
