"""Killed workers and campaigns: no result is lost, and no process is left."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from f3ast_tff.core.randomness import generator
from tests.f3ast_tff.campaigns.campaigns import (
    LONG,
    SMALL,
    assert_same_metrics,
    log_of,
    manifest,
    start,
    wait_until,
    workers_of,
)

WriteGrid = Callable[..., Path]


@pytest.mark.long
def test_killed_workers_and_campaigns_lose_nothing(write_grid: WriteGrid, tmp_path: Path) -> None:
    """`kill -9` to a worker, Ctrl-C, and `kill -9` to the campaign, each in the middle of a run."""
    grid, undisturbed, folder = write_grid(SMALL), tmp_path / "undisturbed", tmp_path / "out"
    # A run of 600 rounds can end before it is interrupted.
    rounds_of_it = ["--rounds=3000", "--eval_every=250", "--checkpoint_every=10"]
    arguments = [*rounds_of_it, "--processes=1", "--seed=0"]
    checkpoints = folder / "mine/runs/fedavg-seed0/checkpoints"

    def reached(round_number: int) -> Callable[[], bool]:
        name = f"round_{round_number:08d}.npz"
        return lambda: max((p.name for p in checkpoints.glob("*.npz")), default="") >= name

    process = start(grid, folder, *arguments)
    wait_until(reached(50), process, folder)
    (worker,) = workers_of(process.pid)
    worker.kill()
    wait_until(reached(150), process, folder)
    workers = workers_of(process.pid)
    assert worker not in workers
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 130, log_of(folder)
    assert not psutil.wait_procs(workers, timeout=10)[1]
    assert "interrupted: the same command goes on with the campaign" in log_of(folder)
    assert "was killed (SIGKILL; was memory short?)" in log_of(folder)
    assert manifest(folder / "mine")["fedavg-seed0"]["state"] == "interrupted"

    process = start(grid, folder, *arguments)
    wait_until(reached(250), process, folder)
    workers = workers_of(process.pid)
    process.kill()
    process.wait(timeout=10)
    assert not psutil.wait_procs(workers, timeout=10)[1]

    assert start(grid, folder, *arguments).wait(timeout=120) == 0, log_of(folder)
    assert start(grid, undisturbed, *arguments).wait(timeout=120) == 0
    assert_same_metrics(folder / "mine", undisturbed / "mine")


@pytest.mark.slow
def test_ten_random_kills_lose_nothing(write_grid: WriteGrid, tmp_path: Path) -> None:
    grid, undisturbed, folder = write_grid(SMALL), tmp_path / "undisturbed", tmp_path / "out"
    arguments = [*LONG, "--processes=2", "--seed=0-5"]
    assert start(grid, undisturbed, *arguments).wait(timeout=600) == 0, log_of(undisturbed)
    for kill in range(10):
        # Anywhere between the start of Python and the end of the next run.
        target = rounds(folder) + int(generator(0, "kill", kill).integers(0, 600))
        process = start(grid, folder, *arguments)
        time.sleep(generator(0, "moment", kill).uniform(0, 1))
        wait_until(lambda target=target: rounds(folder) >= target, process, folder)
        workers = workers_of(process.pid)
        process.kill()
        process.wait(timeout=10)
        assert not psutil.wait_procs(workers, timeout=10)[1]
    assert rounds(folder) < 12 * 600
    assert start(grid, folder, *arguments).wait(timeout=600) == 0, log_of(folder)
    assert_same_metrics(folder / "mine", undisturbed / "mine")
    for name, entry in manifest(folder / "mine").items():
        assert entry["state"] == "finished", name
        assert len(entry["files"]) == 3


def rounds(folder: Path) -> int:
    """Returns the sum of the rounds of each run's newest checkpoint."""
    runs: dict[Path, int] = {}
    for path in folder.glob("mine/runs/*/checkpoints/round_*.npz"):
        runs[path.parent] = max(runs.get(path.parent, 0), int(path.stem.partition("_")[2]))
    return sum(runs.values())
