"""The Flower app of `examples/`, in Flower's Simulation Runtime: killed, and started again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("flwr", reason="in the environment of `make test-flower` alone")
ROOT = Path(__file__).resolve().parents[2]


def app(rounds: int, state_file: Path, dies_in: int = 0) -> tuple[int, str]:
    """Returns the exit code and the output of the app."""
    module = "tests.f3ast_tff.flower.simulated_app"
    done = subprocess.run(
        [sys.executable, "-m", module, str(rounds), str(state_file), str(dies_in)],
        cwd=ROOT,
        env={**os.environ, "FLWR_TELEMETRY_ENABLED": "0"},
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.returncode, done.stdout


def test_the_app_trains_ten_nodes_and_a_killed_server_goes_on(tmp_path: Path) -> None:
    whole, stopped = tmp_path / "whole.npz", tmp_path / "stopped.npz"
    code, said = app(5, whole)
    assert code == 0 and "test accuracy 0." in said
    code, said = app(5, stopped, dies_in=4)
    assert code == -signal.SIGKILL and "round 3" in said and "round 4" not in said
    assert np.load(stopped)["round"] == 3
    code, said = app(5, stopped)
    assert code == 0 and "round 3" not in said and "round 4" in said
    with np.load(whole) as expected, np.load(stopped) as found:
        assert found.files == expected.files and found["round"] == 5
        for name in expected.files:
            np.testing.assert_array_equal(found[name], expected[name])
