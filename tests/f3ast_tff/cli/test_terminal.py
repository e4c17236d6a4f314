"""Output of `f3ast-tff run`, with and without a terminal of 100 columns."""

from __future__ import annotations

import fcntl
import logging
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

from f3ast_tff.cli.run import ProgressBar
from f3ast_tff.files.progress import warnings_said
from tests.f3ast_tff.campaigns.campaigns import HEED_CTRL_C

needs_both = pytest.mark.skipif(
    find_spec("jax") is None or find_spec("tqdm") is None, reason="needs JAX and tqdm"
)

ROOT = Path(__file__).resolve().parents[3]
COLUMNS = 100
SMALL = ["--num_clients=10", "--clients_per_round=2", "--device=cpu", "--logger=csv"]
CTRL_C = b"\x03"


class Terminal:
    """A process with its own controlling terminal: Ctrl-C is typed.

    Attributes:
        shown: All text written to the terminal.
    """

    def __init__(self, *arguments: str) -> None:
        self._screen, inside = pty.openpty()
        fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 30, COLUMNS, 0, 0))
        command = [sys.executable, "-c", HEED_CTRL_C, "run_experiments.py", *SMALL, *arguments]
        # The first terminal that a session's leader opens becomes its own.
        self._process = subprocess.Popen(
            ["sh", "-c", 'exec "$@" <"$0" >"$0" 2>&1', os.ttyname(inside), *command],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._inside = inside
        self.shown = ""

    def read(self) -> bool:
        """Reads some output; returns whether more may come."""
        while not select.select([self._screen], [], [], 0.05)[0]:
            if self._process.poll() is not None:
                return False
        self.shown += os.read(self._screen, 4096).decode(errors="replace")
        return True

    def type_when(self, keys: bytes, ready: Callable[[str], bool]) -> None:
        deadline = time.monotonic() + 60
        while not ready(self.shown):
            assert self.read() and time.monotonic() < deadline, self.shown
        os.write(self._screen, keys)

    def exit_code(self) -> int:
        while self.read():
            pass
        os.close(self._inside)
        os.close(self._screen)
        return self._process.returncode

    def lines(self) -> list[str]:
        """The final screen: a carriage return restarts the line."""
        lines = []
        for line in self.shown.replace("\r\n", "\n").split("\n"):
            cells = [" "] * COLUMNS
            for part in line.split("\r"):
                cells[: len(part)] = part
            lines.append("".join(cells).rstrip())
        return lines


def bars(lines: list[str]) -> list[str]:
    return [line for line in lines if line.startswith("round ")]


@needs_both
@pytest.mark.long
def test_a_run_with_warnings(tmp_path: Path) -> None:
    """Most rounds have no available client: the warning is one line above the only bar."""
    scarce = ["--availability=scarce", "--scarce_q=0.05", f"--output_dir={tmp_path}"]
    terminal = Terminal(*scarce, "--rounds=20", "--run_name=x", "--eval_every=5")
    assert terminal.exit_code() == 0
    lines = terminal.lines()
    assert lines[0] == "x"
    (bar,) = bars(lines)
    assert bar.startswith("round 20/20 |") and "s per round, ETA 0 s, accuracy 0." in bar
    (warning,) = [line for line in lines if "no client available" in line]
    assert warning.startswith("WARNING: round ")
    last = lines.index(bar)
    assert last > lines.index(warning)
    # The line exceeds the screen, and continues in the next lines.
    assert lines[last + 1].startswith(f"{tmp_path}/x finished: round 20, ")
    assert lines[-1] == ""


@needs_both
@pytest.mark.long
def test_ctrl_c_typed_once(tmp_path: Path) -> None:
    terminal = Terminal(f"--output_dir={tmp_path}", "--rounds=100000", "--run_name=x")
    terminal.type_when(CTRL_C, lambda shown: "accuracy" in shown)
    assert terminal.exit_code() == 130
    lines = terminal.lines()
    (bar,) = bars(lines)
    newest = max(path.stem for path in (tmp_path / "x/checkpoints").glob("round_*.npz"))
    number = int(newest.partition("_")[2])
    assert bar.startswith(f"round {number}/100000 |")
    told = f"interrupted: checkpoint at round {number}, the same command goes on from there"
    assert lines[lines.index(bar) + 1 :] == [told, ""]


def test_a_line_per_evaluation(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """4 s pass until round 5 (with compiling), 5 s until round 10: 0.2 s per round."""
    clock = SimpleNamespace(monotonic=iter([0.0, 4.0, 5.0]).__next__)
    monkeypatch.setattr("f3ast_tff.cli.run.time", clock)
    progress = ProgressBar("run", rounds=20)
    progress.start(1)
    progress.advance(5, None)
    progress.advance(5, {"round": 10, "test_sample_accuracy": 0.12345})
    progress.close()
    out, err = capsys.readouterr()
    line = "run: round 10/20, 0.2 s per round, ETA 2 s, accuracy 0.1235\n"
    assert (out, err) == ("", line)


def test_slow_rounds_are_told_before_they_are_evaluated(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SimpleNamespace(monotonic=iter([0.0, 40.0, 60.0]).__next__)
    monkeypatch.setattr("f3ast_tff.cli.run.time", clock)
    progress = ProgressBar("run", rounds=10)
    progress.start(1)
    for _ in range(2):
        progress.advance(1, None)
    assert capsys.readouterr().err == "run: round 1/10, 40 s per round, ETA 6 min 0 s\n"


def test_a_resumed_run_says_where_from(capsys: pytest.CaptureFixture[str]) -> None:
    progress = ProgressBar("run", rounds=20)
    progress.start(11)
    progress.close()
    assert capsys.readouterr().err == "run: resuming from round 11\n"


def test_closing_before_the_start_is_nothing() -> None:
    ProgressBar("run", rounds=20).close()


def test_a_line_per_percent_at_most(capsys: pytest.CaptureFixture[str]) -> None:
    bar = ProgressBar("x", 4000)
    bar.start(1)
    for _ in range(400):
        bar.advance(10, {"test_sample_accuracy": 0.5})
    bar.close()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 100
    assert [lines[i].partition(",")[0] for i in (0, -1)] == [
        "x: round 40/4000",
        "x: round 4000/4000",
    ]


def test_a_warning_of_several_runs_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    log = logging.getLogger("f3ast_tff.a")
    with warnings_said():
        for round_number in (3, 5):
            log.warning("round %d: nobody (said once)", round_number, extra={"once": "nobody"})
    assert capsys.readouterr().err == "WARNING: round 3: nobody (said once)\n"
