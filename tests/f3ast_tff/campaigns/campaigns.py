"""Campaigns as users start them, in separate processes."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import psutil

ROOT = Path(__file__).resolve().parents[3]
SMALL = """
[settings]
task = "synthetic"
device = "cpu"
num_clients = 12
clients_per_round = 3
rounds = 12
eval_every = 4
checkpoint_every = 4

[grid]
algorithm = ["fedavg", "f3ast"]
seed = "0-1"
"""
# Processes of such runs do not import JAX.
ON_HOST = SMALL.replace('device = "cpu"', 'engine = "host"')
# A strategy with one parameter; `WEIGHT` is to be replaced.
PLUGIN = """
from dataclasses import dataclass
import numpy as np
from f3ast_tff.methods.parts.algorithm import AlgorithmConfig
from f3ast_tff.settings import parameter, register
from f3ast_tff.methods import BaseStrategy, Cohort

class FirstOnes(BaseStrategy):
    def select(self, now):
        return np.flatnonzero(now.available)[: now.constraint.k]

    def weigh(self, now, ids, delivered):
        return Cohort(ids[delivered], np.full(delivered.sum(), WEIGHT))

@register("algorithm", "first_ones", about="the lowest ids")
@dataclass(frozen=True)
class FirstOnesConfig(AlgorithmConfig):
    first_weight: float = parameter(0.5, "weight", above=0)

    def build(self, world):
        return FirstOnes()
"""
# Long enough to be interrupted.
LONG = ["--rounds=600", "--eval_every=50", "--checkpoint_every=10"]
# A shell that starts the tests in the background makes them and their children ignore Ctrl-C.
HEED_CTRL_C = """
import runpy, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def start(grid: Path, folder: Path, *arguments: str) -> subprocess.Popen:
    """Starts a campaign with its output in `folder/log.txt`."""
    folder.mkdir(exist_ok=True)
    command = [f"--campaign={grid}", f"--output_dir={folder}", *arguments]
    with open(folder / "log.txt", "ab") as log:
        return subprocess.Popen(
            [sys.executable, "-c", HEED_CTRL_C, "run_experiments.py", *command],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


def log_of(folder: Path) -> str:
    return (folder / "log.txt").read_text()


def manifest(campaign: Path) -> dict[str, dict[str, Any]]:
    """Returns the manifest's entries by run."""
    content = json.loads((campaign / "manifest.json").read_text())
    return {run["name"]: run for run in content["runs"]}


def metrics(campaign: Path) -> dict[str, pd.DataFrame]:
    """Returns the metrics of each run, without the only column that depends on the machine."""
    files = sorted(campaign.glob("runs/*/metrics.csv"))
    return {f.parent.name: pd.read_csv(f).drop(columns="wall_seconds") for f in files}


def assert_same_metrics(got: Path, expected: Path) -> None:
    ours, theirs = metrics(got), metrics(expected)
    assert list(ours) == list(theirs) and theirs
    for name, table in theirs.items():
        pd.testing.assert_frame_equal(ours[name], table, check_exact=True)


def workers_of(pid: int) -> list[psutil.Process]:
    """Returns the process's descendants, except the one that cleans up after `multiprocessing`."""
    children = psutil.Process(pid).children(recursive=True)
    return [child for child in children if "resource_tracker" not in " ".join(child.cmdline())]


def wait_until(condition: Callable[[], bool], process: subprocess.Popen, folder: Path) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert process.poll() is None, log_of(folder)
        assert time.monotonic() < deadline, log_of(folder)
        time.sleep(0.01)
