"""Progress on stderr, with and without a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from importlib.util import find_spec
from pathlib import Path

import pytest

from f3ast_tff.files import progress as files_progress
from f3ast_tff.files.progress import progress

ROOT = Path(__file__).parents[3]
PROGRAM = """
from f3ast_tff.files import progress as files_progress
from f3ast_tff.files.progress import progress
with progress("sharing out", 3, "client") as bar:
    for _ in range(3):
        bar.update(1)
"""


def test_without_a_terminal_it_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("sharing out", 3, "client") as bar:
        bar.update(1)
    assert capsys.readouterr().err == "sharing out ...\n"


@pytest.mark.skipif(find_spec("tqdm") is None, reason="needs tqdm")
def test_in_a_terminal_it_is_a_bar() -> None:
    reader, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, stderr=terminal, check=True)
    os.close(terminal)
    shown = b""
    while True:
        try:
            part = os.read(reader, 4096)
        except OSError:  # A terminal without a writer ends this way.
            break
        if not part:
            break
        shown += part
    os.close(reader)
    assert b"sharing out: 100%" in shown and b"3/3" in shown


@pytest.mark.skipif(find_spec("tqdm") is None, reason="needs tqdm")
def test_without_a_terminal_lines_follow(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files_progress, "LINE_EVERY_S", 0.0)
    with progress("sharing out", 4, "client") as bar:
        bar.update(1)
        bar.update(2)
    assert capsys.readouterr().err.split("\n") == [
        "sharing out ...",
        "sharing out 25%",
        "sharing out 75%",
        "",
    ]


def test_a_job_behind_others_does_not_own_its_terminal() -> None:
    """The session's leader moves to the front a group of its own, then to the back."""
    reader, terminal = pty.openpty()
    program = (
        "import os, signal, sys; os.open(os.ttyname(2), os.O_RDWR); "
        "signal.signal(signal.SIGTTOU, signal.SIG_IGN); "
        "from f3ast_tff.files.progress import owns_terminal as owns; print(owns()); "
        "child = os.fork()\n"
        "if not child: os.setpgid(0, 0); os.tcsetpgrp(2, os.getpid()); os._exit(not owns())\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), owns())"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=terminal, start_new_session=True
    )
    os.close(terminal)
    os.close(reader)
    assert done.stdout.decode().split("\n") == ["True", "0 False", ""]
