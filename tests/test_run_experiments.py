"""The user's command, in separate processes: outputs, interruptions, resume."""

from __future__ import annotations

import importlib.metadata
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

from f3ast_tff.cli.main import main
from tests.f3ast_tff.campaigns.campaigns import HEED_CTRL_C, log_of
from tests.f3ast_tff.run.small_run import assert_same_rounds

ROOT = Path(__file__).parent.parent
ROUNDS = 24
IN_PROCESS = ("--engine=tff",)
WORKER = ("--engine=tff", "--tff_runtime=worker")
# Enough rounds, in blocks, to interrupt.
FUSED_ROUNDS = 600
FUSED = ("--device=cpu", f"--rounds={FUSED_ROUNDS}", "--eval_every=5", "--checkpoint_every=20")
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
# Users' environment: full compilation, unlike in the tests.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "JAX_DISABLE_MOST_OPTIMIZATIONS"}


def start(folder: Path, engine: Sequence[str]) -> subprocess.Popen:
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
            ],
            cwd=ROOT,
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


def here(folder: Path, *arguments: str) -> int:
    """Runs the same command in this process."""
    return main([*COMMAND[1:], f"--output_dir={folder}", "--run_name=run", *arguments])


def workers_of(pid: int) -> list[psutil.Process]:
    children = psutil.Process(pid).children(recursive=True)
    return [child for child in children if child.name() == "worker_binary"]


def wait_for_evaluations(process: subprocess.Popen, folder: Path, number: int) -> None:
    """Waits until `metrics.csv` holds this number of rows."""
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
    """Output folder of a run through a pipe, as `run_experiments.py ... | cat`."""
    folder = tmp_path_factory.mktemp("undisturbed")
    line = " ".join([*COMMAND, *FUSED, f"--output_dir={folder}", "--run_name=run"])
    # Processes of the run inherit this mark; other tests may have workers at the same time.
    mark = {"F3AST_TEST_RUN": str(folder)}
    piped = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line} 2>&1 | cat"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=180,
        env={**ENVIRONMENT, **mark},
    )
    assert piped.returncode == 0, piped.stdout
    assert f"finished: round {FUSED_ROUNDS}" in piped.stdout
    left = [p for p in psutil.process_iter(["environ"]) if mark.items() <= _environment(p)]
    assert not left
    return folder


@pytest.mark.long
def test_writes_all_that_the_readme_names(undisturbed: Path) -> None:
    run = undisturbed / "run"
    config = json.loads((run / "config.json").read_text())
    assert config["settings"]["batch_size"] == 20
    assert config["settings"]["availability_objective"] == "p"
    assert config["packages"]["jax"] == importlib.metadata.version("jax")
    table = metrics(undisturbed)
    assert table["round"].tolist() == list(range(5, FUSED_ROUNDS + 1, 5))
    assert table["test_sample_accuracy"].between(0, 1).all()
    summary = json.loads((run / "summary.json").read_text())
    last = table["test_user_loss"]
    assert summary["final"]["test_user_loss"] == pytest.approx(last.iloc[-1])
    assert summary["evaluations_averaged"] == 12
    averaged = summary["mean_of_last_10_percent"]["test_user_loss"]
    assert averaged == pytest.approx(last.iloc[-12:].mean())
    assert list(run.glob("events.out.tfevents.*"))
    assert len(list((run / "checkpoints").glob("round_*.npz"))) == 1

    with np.load(run / "selection.npz") as selection:
        assert selection["selected"].shape == (FUSED_ROUNDS, 3)
        short = np.minimum(selection["num_available"], 3)
        np.testing.assert_array_equal(selection["num_selected"], short)
        assert (selection["final_rates"] > 0).all()


@pytest.mark.long
def test_killed_run_equals_an_undisturbed_one(undisturbed: Path, tmp_path: Path) -> None:
    interrupt(tmp_path, FUSED, [(signal.SIGTERM, 10, 143), (signal.SIGKILL, 50, -9)])
    assert start(tmp_path, FUSED).wait(timeout=120) == 0, log_of(tmp_path)
    assert log_of(tmp_path).count("resuming from round") == 2
    assert_same_rounds(tmp_path / "run", undisturbed / "run")


@pytest.mark.long
@pytest.mark.tff
def test_so_does_one_on_tff(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run interrupted in another process continues in this one."""
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    broken.mkdir()
    interrupt(broken, IN_PROCESS, [(signal.SIGINT, 2, 130), (signal.SIGKILL, 5, -9)])
    assert log_of(broken).count("resuming from round") == 1
    assert "Exception ignored" not in log_of(broken)
    assert here(broken, *IN_PROCESS) == 0
    assert "resuming from round" in "".join(capsys.readouterr())
    assert here(whole, *IN_PROCESS) == 0
    assert_same_rounds(broken / "run", whole / "run")


@pytest.mark.tff
@pytest.mark.slow
def test_so_does_one_on_the_worker(tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    whole.mkdir()
    broken.mkdir()
    assert start(whole, WORKER).wait(timeout=120) == 0, log_of(whole)
    assert "executes whatever is sent to its port" in log_of(whole)
    exits = [(signal.SIGINT, 2, 130), (signal.SIGTERM, 5, 143), (signal.SIGKILL, 8, -9)]
    interrupt(broken, WORKER, exits)
    assert start(broken, WORKER).wait(timeout=120) == 0, log_of(broken)
    assert log_of(broken).count("resuming from round") == len(exits)
    assert_same_rounds(broken / "run", whole / "run")


def interrupt(
    folder: Path, engine: Sequence[str], exits: Sequence[tuple[signal.Signals, int, int]]
) -> None:
    """Ends a run once per entry of `exits`: (signal, evaluations before it, exit status).

    The run's worker, if any, ends with it.
    """
    for signum, evaluations, status in exits:
        process = start(folder, engine)
        wait_for_evaluations(process, folder, evaluations)
        workers = workers_of(process.pid)
        assert len(workers) == int(engine == WORKER)
        process.send_signal(signum)
        assert process.wait(timeout=30) == status, log_of(folder)
        _, alive = psutil.wait_procs(workers, timeout=10)
        assert not alive


@pytest.mark.tff
@pytest.mark.slow
def test_a_lost_worker_is_one_line_and_the_run_goes_on_later(tmp_path: Path) -> None:
    process = start(tmp_path, WORKER)
    wait_for_evaluations(process, tmp_path, 3)
    for worker in workers_of(process.pid):
        worker.kill()
    assert process.wait(timeout=30) == 1
    last = log_of(tmp_path).splitlines()[-1]
    assert re.match("error: round [0-9]+: TFF's worker on localhost:[0-9]+ ended", last)
    assert "tff_worker.log" in last
    assert list((tmp_path / "run" / "checkpoints").glob("round_*.npz"))


@pytest.mark.long
def test_finished_run_is_not_repeated_and_other_settings_are_refused(
    undisturbed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert here(undisturbed, *FUSED) == 0
    assert "already finished" in capsys.readouterr().out
    assert here(undisturbed, *FUSED, "--rate_beta=0.01") == 2
    assert "rate_beta 0.001, now 0.01" in capsys.readouterr().err.splitlines()[-1]
    assert os.path.exists(undisturbed / "run" / "summary.json")
