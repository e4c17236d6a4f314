"""Runs ended at random moments, by signals and by `kill -9`: continued, they end the same.

Ctrl-C at swept moments is sent as a terminal does, to the process and its children.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.f3ast_tff.run.small_run import assert_same_rounds
from tests.fuzz.generate import SEED_VARIABLE, count

pytestmark = pytest.mark.slow
_ROOT = Path(__file__).parents[2]
_COMMAND = (
    *(sys.executable, "-m", "f3ast_tff.cli.main", "run", "--algorithm=f3ast"),
    *["--availability=home_devices", "--num_clients=12", "--clients_per_round=4", "--rounds=1500"],
    *["--eval_every=50", "--checkpoint_every=100", "--device=cpu", "--run_name=run"],
)
_GRID = """
[settings]
num_clients = 12
clients_per_round = 4
rounds = 600
eval_every = 50
checkpoint_every = 10
device = "cpu"
[grid]
algorithm = ["fedavg", "f3ast"]
"""
_SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def start(folder: Path, command: Sequence[str] = _COMMAND) -> subprocess.Popen[str]:
    """Starts a command as the leader of its own process group, as under a terminal."""
    return subprocess.Popen(
        [*command, f"--output_dir={folder}"],
        cwd=_ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for_handlers(process: subprocess.Popen[str]) -> None:
    """Waits until the process catches SIGHUP, number 1; earlier signals end the interpreter."""
    status = Path(f"/proc/{process.pid}/status")
    while process.poll() is None:
        if int(status.read_text().partition("SigCgt:")[2].split()[0], 16) & 1:
            return
        time.sleep(0.005)


def end(folder: Path, rng: random.Random, most_s: float) -> tuple[str, int]:
    """Starts a run and ends it at a random moment; returns the signal and the exit code."""
    signum = rng.choice(_SIGNALS)
    process = start(folder)
    if signum != signal.SIGKILL:
        wait_for_handlers(process)
    with suppress(subprocess.TimeoutExpired):
        process.wait(rng.uniform(0, most_s))
    children = [] if process.poll() is not None else psutil.Process(process.pid).children()
    process.send_signal(signum)
    _, err = process.communicate(timeout=30)
    assert "Traceback" not in err, err
    code = process.returncode
    assert code in (0, -9 if signum == signal.SIGKILL else 128 + signum), (signum, code, err)
    assert not psutil.wait_procs(children, timeout=10)[1]
    return signum.name, code


def test_ended_runs(tmp_path: Path) -> None:
    began = time.monotonic()
    whole = start(tmp_path / "whole")
    assert whole.communicate()[1].count("Traceback") == whole.returncode == 0
    # Most runs are ended before they finish.
    most_s = 0.7 * (time.monotonic() - began)
    ended: dict[tuple[str, int], int] = {}
    for number in range(count(25)):
        # A moment cannot be repeated: nothing to shrink.
        rng = random.Random(f"{os.environ.get(SEED_VARIABLE)} {number}")
        folder = tmp_path / str(number)
        for _ in range(rng.choice([1, 1, 2, 3])):
            found = end(folder, rng, most_s)
            ended[found] = ended.get(found, 0) + 1
        last = start(folder)
        _, err = last.communicate(timeout=120)
        assert last.returncode == 0 and "Traceback" not in err, (number, err)
        assert_same_rounds(folder / "run", tmp_path / "whole" / "run")
        assert not list(folder.rglob("*.tmp")), number
    print(ended)


@pytest.mark.parametrize(("name", "moments"), [("run", 100), ("campaign", 10)])
def test_ctrl_c_at_swept_moments(name: str, moments: int, tmp_path: Path) -> None:
    """Moments start once Ctrl-C is handled; after a finished run the folder changes."""
    grid = tmp_path / "mine.toml"
    grid.write_text(_GRID)
    campaign = (*_COMMAND[:3], "campaign", str(grid), "--processes=2")
    command = _COMMAND if name == "run" else campaign
    whole = start(tmp_path / "whole", command)
    wait_for_handlers(whole)
    began = time.monotonic()
    whole.communicate()
    span, folders, stopped = time.monotonic() - began, 0, 0
    assert whole.returncode == 0
    for moment in range(number := count(moments)):
        folder = tmp_path / str(folders)
        process = start(folder, command)
        wait_for_handlers(process)
        with suppress(subprocess.TimeoutExpired):
            process.wait(span * moment / number)
        children = [] if process.poll() is not None else psutil.Process(process.pid).children()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=120)
        # The last prefix is the message, during a slow round, that the signal was heard.
        also = ("run: ", "mine: ", "stopping after this round")
        said = [line for line in err.splitlines() if not line.startswith(also)]
        assert process.returncode in (0, 130) and "Traceback" not in err, (moment, err)
        assert len(said) == (process.returncode == 130), (moment, said)
        assert all(line.startswith("interrupted") for line in said), (moment, said)
        assert not psutil.wait_procs(children, timeout=30)[1]
        stopped += process.returncode == 130
        folders += process.returncode == 0
    assert stopped
    last = start(tmp_path / str(folders), command)
    assert last.communicate()[1].count("Traceback") == last.returncode == 0
    runs = sorted(path.parent for path in (tmp_path / "whole").rglob("selection.npz"))
    for done in range(folders + 1):
        for run in runs:
            assert_same_rounds(tmp_path / str(done) / run.relative_to(tmp_path / "whole"), run)
