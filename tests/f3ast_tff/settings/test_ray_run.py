"""A command-line run over a real Ray cluster of two nodes, which loses one node, or all."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pandas as pd
import pytest

from tests.f3ast_tff.run.small_run import assert_same_rounds
from tests.ray_clusters import RayCluster, ray_cluster

pytestmark = pytest.mark.ray

ROOT = Path(__file__).parents[3]
COMMAND = [
    sys.executable,
    "run_experiments.py",
    "--device=cpu",
    "--algorithm=f3ast",
    "--num_clients=12",
    "--clients_per_round=4",
    "--eval_every=2",
    "--checkpoint_every=4",
]
FUSED = ["--rounds=60"]
TFF = ["--engine=tff", "--rounds=16"]


@pytest.fixture
def cluster() -> Iterator[RayCluster]:
    # Two places per node: workers lost on one node fit on the other.
    with ray_cluster(cpus_per_node=2) as running:
        yield running


def start(folder: Path, *arguments: str) -> subprocess.Popen:
    folder.mkdir(exist_ok=True)
    with open(folder / "log.txt", "wb") as log:
        return subprocess.Popen(
            [*COMMAND, f"--output_dir={folder}", "--run_name=run", *arguments],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def over(cluster: RayCluster) -> list[str]:
    return ["--num_workers=2", f"--ray_address={cluster.address}"]


def finish(process: subprocess.Popen, folder: Path) -> int:
    try:
        return process.wait(timeout=200)
    finally:
        process.kill()
        print((folder / "log.txt").read_text())


def wait_for_evaluations(process: subprocess.Popen, folder: Path, number: int) -> None:
    path, deadline = folder / "run" / "metrics.csv", time.monotonic() + 120
    while not (path.exists() and len(path.read_text().splitlines()) > number):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.002)


def said(folder: Path) -> list[str]:
    """Returns the log's lines without progress."""
    lines = (folder / "log.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("run: round ")]


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [FUSED, TFF], ids=["fused", "tff"])
def test_run_that_loses_a_node_is_the_undisturbed_run(
    arguments: list[str], cluster: RayCluster, tmp_path: Path
) -> None:
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    assert finish(start(whole, *arguments, *over(cluster)), whole) == 0
    process = start(torn, *arguments, *over(cluster))
    wait_for_evaluations(process, torn, 3)
    cluster.kill_node(0)
    assert finish(process, torn) == 0
    (line,) = said(torn)
    assert " finished: round " in line
    assert '"replaced_workers": 0' in (whole / "run" / "summary.json").read_text()
    assert '"replaced_workers": 0' not in (torn / "run" / "summary.json").read_text()
    assert_same_rounds(torn / "run", whole / "run")


@pytest.mark.slow
@pytest.mark.parametrize("another", [True, False], ids=["on_another", "without"])
def test_lost_cluster_is_said_in_a_line_and_the_run_goes_on(
    another: bool, cluster: RayCluster, tmp_path: Path
) -> None:
    process = start(tmp_path, "--rounds=600", *over(cluster))
    wait_for_evaluations(process, tmp_path, 4)
    cluster.kill()
    assert finish(process, tmp_path) == 1
    # Ray may have ended the process: its message comes a moment later.
    time.sleep(1)
    (line,) = said(tmp_path)
    assert line.startswith("error: round ")
    assert f"the Ray cluster at {cluster.address} is lost: " in line
    last = max(int(f.stem[-8:]) for f in (tmp_path / "run" / "checkpoints").glob("*.npz"))

    with ray_cluster(cpus_per_node=2) if another else nullcontext() as new:
        process = start(tmp_path, "--rounds=600", *(over(new) if new else []))
        assert finish(process, tmp_path) == 0
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary.get("num_workers") == (2 if another else None)
    lines = (tmp_path / "log.txt").read_text().splitlines()
    rounds = [int(s.split()[2].partition("/")[0]) for s in lines if s.startswith("run: round ")]
    assert rounds[0] == last + 2 and rounds[-1] == 600
    table = pd.read_csv(tmp_path / "run" / "metrics.csv")
    assert table["round"].tolist() == list(range(2, 601, 2))


@pytest.mark.slow
def test_through_rays_client(tmp_path: Path) -> None:
    """Another way to the same workers; a lost connection is reported in one line."""
    port, rounds = free_port(), ["--rounds=20"]
    here, there, cut = (tmp_path / name for name in ("here", "there", "cut"))
    assert finish(start(here, *rounds, "--num_workers=2"), here) == 0
    with ray_cluster(cpus_per_node=2, client_port=port) as cluster:
        through = ["--num_workers=2", f"--ray_address=ray://127.0.0.1:{port}"]
        assert finish(start(there, *rounds, *through), there) == 0
        assert_same_rounds(there / "run", here / "run")
        process = start(cut, "--rounds=5000", *through)
        wait_for_evaluations(process, cut, 4)
        cluster.kill()
        assert finish(process, cut) == 1
    (line,) = said(cut)
    assert f"the Ray cluster at ray://127.0.0.1:{port} is lost: " in line


def test_unreachable_cluster_is_bad_input(tmp_path: Path) -> None:
    began = time.monotonic()
    process = start(tmp_path, "--num_workers=2", "--ray_address=127.0.0.1:1")
    assert finish(process, tmp_path) == 2
    assert time.monotonic() - began < 30
    (line,) = said(tmp_path)
    assert line.startswith("error: --ray_address=127.0.0.1:1: no Ray cluster can be reached there")
