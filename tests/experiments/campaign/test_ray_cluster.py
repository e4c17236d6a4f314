"""A real Ray cluster of two nodes, as processes of this machine: runs on both, one of them lost."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

from tests.experiments.campaign.campaigns import (
    LONG,
    SMALL,
    log_of,
    manifest,
    metrics,
    start,
    wait_until,
    workers_of,
)

WriteGrid = Callable[..., Path]
# In a process of its own, which ends what it started when its stdin ends.
CLUSTER = """
import sys
from ray.cluster_utils import Cluster

node = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": 80 * 2**20}
cluster = Cluster(initialize_head=True, head_node_args=node)
node.pop("include_dashboard")
cluster.add_node(**node)
print("ADDRESS", cluster.address, flush=True)
sys.stdin.read()
cluster.shutdown()
"""


class Cluster(NamedTuple):
    """A running cluster: its head's address, and the process that all others descend from."""

    address: str
    pid: int


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Every process of the cluster is gone afterwards."""
    process = subprocess.Popen(
        [sys.executable, "-c", CLUSTER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    started = []
    try:
        lines = (line.split() for line in process.stdout)
        address = next(words[1] for words in lines if words[:1] == ["ADDRESS"])
        yield Cluster(address, process.pid)
        started = psutil.Process(process.pid).children(recursive=True)
        process.stdin.close()
        process.wait(timeout=30)
    finally:
        process.kill()
        process.wait(timeout=10)
        process.stdout.close()
        for left in psutil.wait_procs(started, timeout=10)[1]:
            left.kill()


def test_runs_finish_on_both_nodes(cluster: Cluster, write_grid: WriteGrid, tmp_path: Path) -> None:
    grid, folder = write_grid(SMALL), tmp_path / "out"
    process = start(grid, folder, f"--ray_address={cluster.address}")
    assert process.wait(timeout=120) == 0, log_of(folder)
    assert "4 of 4 runs finished (0 of them before), 0 failed" in log_of(folder)
    entries = manifest(folder / "mine")
    assert {entry["state"] for entry in entries.values()} == {"finished"}
    nodes = {entry["worker"].partition("Ray node ")[2] for entry in entries.values()}
    assert len(nodes) == 2 and "" not in nodes
    assert [len(table) for table in metrics(folder / "mine").values()] == [3, 3, 3, 3]

    again = start(grid, folder, f"--ray_address={cluster.address}")
    assert again.wait(timeout=60) == 0
    assert "4 of 4 runs finished (4 of them before)" in log_of(folder)


@pytest.mark.slow
def test_a_run_whose_actor_is_killed_goes_on(
    cluster: Cluster, write_grid: WriteGrid, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    arguments = ["--seeds=7", *LONG, f"--ray_address={cluster.address}"]
    process = start(write_grid(SMALL), folder, *arguments)
    wait_until(lambda: bool(actors_in_a_run(cluster, folder)), process, folder)
    actors_in_a_run(cluster, folder)[0].kill()
    assert process.wait(timeout=120) == 0, log_of(folder)
    assert "was lost: " in log_of(folder)
    assert "trying again" in log_of(folder)


def actors_in_a_run(cluster: Cluster, folder: Path) -> list[psutil.Process]:
    """Returns our actors, once a run has got somewhere."""
    if not list(folder.glob("mine/runs/*/checkpoints/*.npz")):
        return []
    every = workers_of(cluster.pid)
    return [p for p in every if p.cmdline()[:1] and p.cmdline()[0].startswith("ray::RunActor.run")]
