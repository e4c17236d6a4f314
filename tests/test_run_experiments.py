"""The command a user types, in processes of their own: outputs, interruptions, resume."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import ItemsView, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pytest

ROOT = Path(__file__).parent.parent
ROUNDS = 24
IN_PROCESS = ("--engine=tff",)
WORKER = ("--engine=tff", "--tff_runtime=worker")
ARGUMENTS = [
    "--algorithm=f3ast_adam",
    "--availability=smartphones",
    "--num_clients=12",
    "--clients_per_round=3",
    f"--rounds={ROUNDS}",
    "--eval_every=2",
    "--checkpoint_every=3",
    "--seed=5",
]
COMMAND = [sys.executable, "run_experiments.py", *ARGUMENTS]
# A shell that puts the tests in the background has them, and what they start, ignore Ctrl-C.
HEED_CTRL_C = """
import runpy, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def start(folder: Path, *arguments: str, engine: Sequence[str] = IN_PROCESS) -> subprocess.Popen:
    with open(folder / "log.txt", "ab") as log:
        return subprocess.Popen(
            [
                sys.executable,
                "-c",
                HEED_CTRL_C,
                *COMMAND[1:],
                f"--output_dir={folder}",
                "--run_name=run",
                *engine,
                *arguments,
            ],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


def log_of(folder: Path) -> str:
    return (folder / "log.txt").read_text()


def workers_of(pid: int) -> list[psutil.Process]:
    children = psutil.Process(pid).children(recursive=True)
    return [child for child in children if child.name() == "worker_binary"]


def wait_for_evaluations(process: subprocess.Popen, folder: Path, number: int) -> None:
    """Waits until `metrics.csv` holds so many rows."""
    deadline = time.monotonic() + 120
    path = folder / "run" / "metrics.csv"
    while not (path.exists() and len(path.read_text().splitlines()) > number):
        assert process.poll() is None, log_of(folder)
        assert time.monotonic() < deadline, log_of(folder)
        time.sleep(0.01)


def metrics(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "run" / "metrics.csv").drop(columns="wall_seconds")


def _environment(process: psutil.Process) -> ItemsView[str, str]:
    return (process.info["environ"] or {}).items()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run through a pipe, as `run_experiments.py ... | cat`; returns its output folder."""
    folder = tmp_path_factory.mktemp("undisturbed")
    line = " ".join([*COMMAND, *IN_PROCESS, f"--output_dir={folder}", "--run_name=run"])
    # What it starts inherits this; other tests may have workers of their own at the same time.
    mark = {"F3AST_TEST_RUN": str(folder)}
    piped = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line} 2>&1 | cat"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=180,
        env={**os.environ, **mark},
    )
    assert piped.returncode == 0, piped.stdout
    assert "finished: round 24" in piped.stdout
    left = [p for p in psutil.process_iter(["environ"]) if mark.items() <= _environment(p)]
    assert not left
    return folder


@pytest.mark.tff
def test_writes_all_that_the_readme_names(undisturbed: Path) -> None:
    run = undisturbed / "run"
    config = json.loads((run / "config.json").read_text())
    assert config["settings"]["batch_size"] == 20
    assert config["settings"]["availability_objective"] == "p"
    assert config["packages"]["tensorflow-federated"] == "0.87.0"
    table = metrics(undisturbed)
    assert table["round"].tolist() == list(range(2, ROUNDS + 1, 2))
    assert table["test_sample_accuracy"].between(0, 1).all()
    summary = json.loads((run / "summary.json").read_text())
    assert summary["final"]["test_user_loss"] == pytest.approx(table["test_user_loss"].iloc[-1])
    assert summary["evaluations_averaged"] == 1
    assert list(run.glob("events.out.tfevents.*"))
    assert len(list((run / "checkpoints").glob("round_*.npz"))) == 1

    with np.load(run / "selection.npz") as selection:
        assert selection["selected"].shape == (ROUNDS, 3)
        short = np.minimum(selection["num_available"], 3)
        np.testing.assert_array_equal(selection["num_selected"], short)
        assert (selection["final_rates"] > 0).all()


@pytest.mark.tff
def test_interrupted_run_equals_an_undisturbed_one(undisturbed: Path, tmp_path: Path) -> None:
    exits = [(signal.SIGINT, 2, 130), (signal.SIGKILL, 5, -9)]
    interrupt_and_compare(tmp_path, undisturbed, IN_PROCESS, exits)


@pytest.mark.tff
@pytest.mark.slow
def test_so_does_one_on_the_worker(tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    whole.mkdir()
    broken.mkdir()
    assert start(whole, engine=WORKER).wait(timeout=120) == 0, log_of(whole)
    assert "executes whatever is sent to its port" in log_of(whole)
    exits = [(signal.SIGINT, 2, 130), (signal.SIGTERM, 5, 143), (signal.SIGKILL, 8, -9)]
    interrupt_and_compare(broken, whole, WORKER, exits)


def interrupt_and_compare(
    tmp_path: Path,
    undisturbed: Path,
    engine: Sequence[str],
    exits: Sequence[tuple[signal.Signals, int, int]],
) -> None:
    """Each of `exits` (signal, after how many evaluations, exit status) ends a worker too.

    Then the run goes on, and equals the undisturbed one.
    """
    for signum, evaluations, status in exits:
        process = start(tmp_path, engine=engine)
        wait_for_evaluations(process, tmp_path, evaluations)
        workers = workers_of(process.pid)
        assert len(workers) == int(engine == WORKER)
        process.send_signal(signum)
        assert process.wait(timeout=30) == status, log_of(tmp_path)
        _, alive = psutil.wait_procs(workers, timeout=10)
        assert not alive
    assert start(tmp_path, engine=engine).wait(timeout=120) == 0, log_of(tmp_path)

    assert log_of(tmp_path).count("resuming from round") == len(exits)
    pd.testing.assert_frame_equal(metrics(tmp_path), metrics(undisturbed), check_exact=True)
    got = np.load(tmp_path / "run" / "selection.npz")
    expected = np.load(undisturbed / "run" / "selection.npz")
    with got, expected:
        for name in expected.files:
            np.testing.assert_array_equal(got[name], expected[name])


def test_killed_fused_run_equals_an_undisturbed_one(tmp_path: Path) -> None:
    """The same with rounds in blocks: SIGTERM, then `kill -9`."""
    arguments = ["--rounds=600", "--eval_every=5", "--checkpoint_every=20"]
    fused = ["--device=cpu"]
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    undisturbed.mkdir()
    killed.mkdir()
    assert start(undisturbed, *arguments, engine=fused).wait(timeout=120) == 0, log_of(undisturbed)
    for evaluations, signum, status in ((10, signal.SIGTERM, 143), (50, signal.SIGKILL, -9)):
        process = start(killed, *arguments, engine=fused)
        wait_for_evaluations(process, killed, evaluations)
        process.send_signal(signum)
        assert process.wait(timeout=30) == status, log_of(killed)
    assert start(killed, *arguments, engine=fused).wait(timeout=120) == 0, log_of(killed)
    assert log_of(killed).count("resuming from round") == 2
    pd.testing.assert_frame_equal(metrics(killed), metrics(undisturbed), check_exact=True)


@pytest.mark.tff
@pytest.mark.slow
def test_a_lost_worker_is_one_line_and_the_run_goes_on_later(tmp_path: Path) -> None:
    process = start(tmp_path, engine=WORKER)
    wait_for_evaluations(process, tmp_path, 3)
    for worker in workers_of(process.pid):
        worker.kill()
    assert process.wait(timeout=30) == 1
    last = log_of(tmp_path).splitlines()[-1]
    assert re.match("error: round [0-9]+: TFF's worker on localhost:[0-9]+ ended", last)
    assert "tff_worker.log" in last
    assert list((tmp_path / "run" / "checkpoints").glob("round_*.npz"))


@pytest.mark.tff
def test_finished_run_is_not_repeated_and_other_settings_are_refused(undisturbed: Path) -> None:
    again = start(undisturbed)
    assert again.wait(timeout=30) == 0
    assert "already finished" in log_of(undisturbed)
    other = start(undisturbed, "--rate_beta=0.01")
    assert other.wait(timeout=30) == 2
    last = log_of(undisturbed).splitlines()[-1]
    assert "rate_beta 0.001, now 0.01" in last
    assert os.path.exists(undisturbed / "run" / "summary.json")
