"""The GPU that each process of a campaign sees; the lists of devices are made up."""

from __future__ import annotations

import multiprocessing
import os
import signal
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from f3ast_tff.campaigns import processes
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
