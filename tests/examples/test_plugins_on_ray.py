"""The plug-ins of `examples/plugins` on Ray: their code crosses to the actors by value."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from tests.examples.test_plugins import PLUGINS

ALL = [f"--plugin={path}" for path in sorted(PLUGINS.glob("*.py"))]
SMALL = ["--num_clients=8", "--clients_per_round=3", "--rounds=3", "--eval_every=1"]
COMPONENTS = ["--task=moons", "--availability=commuters", "--aggregation=clipped_mean"]
GRID = """
about = "All four."

[settings]
task = "moons"
availability = "commuters"
aggregation = "clipped_mean"
num_clients = 8
clients_per_round = 3
rounds = 3
eval_every = 1

[grid]
algorithm = ["greedy_loss", "fedavg"]
"""
pytestmark = pytest.mark.ray


def command(*arguments: str, cwd: Path) -> str:
    """Runs `f3ast-tff` in another folder, as a module, so that any installation will do."""
    run = [sys.executable, "-m", "f3ast_tff.cli.main", *arguments]
    done = subprocess.run(run, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def metrics(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "metrics.csv").drop(columns="wall_seconds")


def test_rounds_over_actors_equal_those_of_one_process(tmp_path: Path) -> None:
    """The run has a strategy that learns from losses, and its own model and aggregation."""
    run = ["run", *ALL, *COMPONENTS, *SMALL, "--algorithm=greedy_loss"]
    command(*run, "--run_name=one", cwd=tmp_path)
    command(*run, "--run_name=ray", "--num_workers=2", cwd=tmp_path)
    one, ray = (metrics(tmp_path / "runs" / name) for name in ("one", "ray"))
    pd.testing.assert_frame_equal(one, ray, rtol=1e-5)


def test_a_campaign_on_ray(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(GRID)
    campaign = ["campaign", "mine.toml", *ALL, "--ray_address=local", "--processes=1"]
    assert "2 of 2 runs finished" in command(*campaign, cwd=tmp_path)
