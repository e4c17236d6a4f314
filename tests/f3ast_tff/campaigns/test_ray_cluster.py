"""A real Ray cluster of two nodes on this machine: runs on both nodes, and one node lost."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.f3ast_tff.campaigns.campaigns import (
    LONG,
    PLUGIN,
    ROOT,
    SMALL,
    assert_same_metrics,
    log_of,
    manifest,
    metrics,
    start,
    wait_until,
)
from tests.ray_clusters import RayCluster, ray_cluster

WriteGrid = Callable[..., Path]
pytestmark = pytest.mark.ray


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with ray_cluster(cpus_per_node=1) as running:
        yield running


def test_runs_finish_on_both_nodes(
    cluster: RayCluster, write_grid: WriteGrid, tmp_path: Path
) -> None:
    """The runs of a plug-in finish too; all nodes see its file.

    The folder is given relative to that of the command; the cluster was started in another one.
    """
    plugin, folder = tmp_path / "first.py", tmp_path / "out"
    plugin.write_text(PLUGIN.replace("WEIGHT", "0.5"))
    grid = write_grid(SMALL.replace('"f3ast"', '"first_ones"'))
    arguments = [f"--ray_address={cluster.address}", f"--plugin={plugin}"]
    arguments.append(f"--output_dir={os.path.relpath(folder, ROOT)}")
    process = start(grid, folder, *arguments)
    assert process.wait(timeout=120) == 0, log_of(folder)
    assert "4 of 4 runs finished (0 of them before), 0 failed" in log_of(folder)
    entries = manifest(folder / "mine")
    assert {entry["state"] for entry in entries.values()} == {"finished"}
    nodes = {entry["worker"].partition("Ray node ")[2] for entry in entries.values()}
    assert len(nodes) == 2 and "" not in nodes
    assert [len(table) for table in metrics(folder / "mine").values()] == [3, 3, 3, 3]

    again = start(grid, folder, *arguments)
    assert again.wait(timeout=60) == 0
    assert "4 of 4 runs finished (4 of them before)" in log_of(folder)


@pytest.mark.slow
def test_a_run_whose_actor_is_killed_goes_on(
    cluster: RayCluster, write_grid: WriteGrid, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    arguments = ["--seed=7", *LONG, f"--ray_address={cluster.address}"]
    process = start(write_grid(SMALL), folder, *arguments)
    wait_until(lambda: bool(actors_in_a_run(cluster, folder)), process, folder)
    actors_in_a_run(cluster, folder)[0].kill()
    assert process.wait(timeout=120) == 0, log_of(folder)
    assert "was lost: " in log_of(folder)
    assert "trying again" in log_of(folder)


@pytest.mark.slow
def test_workers_killed_while_a_killed_driver_goes_on(
    cluster: RayCluster, write_grid: WriteGrid, tmp_path: Path
) -> None:
    """`kill -9` to the driver within a run, then to all actors of the next driver."""
    grid, folder, undisturbed = write_grid(SMALL), tmp_path / "out", tmp_path / "undisturbed"
    arguments = ["--seed=0", *LONG, f"--ray_address={cluster.address}"]
    process = start(grid, folder, *arguments)
    wait_until(lambda: bool(actors_in_a_run(cluster, folder)), process, folder)
    process.kill()
    process.wait(timeout=10)
    assert not psutil.wait_procs(actors_in_a_run(cluster, folder), timeout=60)[1]
    assert not list(folder.glob("mine/runs/*/summary.json"))

    process = start(grid, folder, *arguments)
    wait_until(lambda: bool(actors_in_a_run(cluster, folder)), process, folder)
    for actor in actors_in_a_run(cluster, folder):
        actor.kill()
    assert process.wait(timeout=300) == 0, log_of(folder)
    assert "was lost: " in log_of(folder) and "Traceback" not in log_of(folder)
    assert start(grid, undisturbed, *arguments).wait(timeout=300) == 0, log_of(undisturbed)
    assert_same_metrics(folder / "mine", undisturbed / "mine")


def actors_in_a_run(cluster: RayCluster, folder: Path) -> list[psutil.Process]:
    """Returns our actors once a run has a checkpoint."""
    if not list(folder.glob("mine/runs/*/checkpoints/*.npz")):
        return []
    found = []
    for process in psutil.Process(cluster.pid).children(recursive=True):
        # A process may end meanwhile.
        with suppress(psutil.Error):
            if "".join(process.cmdline()[:1]).startswith("ray::RunActor.run"):
                found.append(process)
    return found
