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

from f3ast_tff.files.progress import progress

ROOT = Path(__file__).parents[3]
PROGRAM = """
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
