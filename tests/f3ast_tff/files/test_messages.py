"""One-line messages that a terminal can show, and progress on stderr."""

from __future__ import annotations

import fcntl
import logging
import os
import pty
import struct
import subprocess
import sys
import termios
from importlib.util import find_spec
from pathlib import Path

import pytest

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files import progress as files_progress
from f3ast_tff.files.messages import LineFormatter, is_plain, one_line, printable, show
from f3ast_tff.files.progress import progress, say
from f3ast_tff.settings import Parameter


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nb\t c  d", "a b c d"),
        ("\x1b[2Jx\x07", "?[2Jx?"),
        ("\u202eabc\ud800", "?abc?"),
        ("Zoë, 日本", "Zoë, 日本"),
        ("x" * 300, "x" * 300),
        ("9" * 5000, "9" * 150 + "...(5000 characters)"),
    ],
)
def test_one_line(text: str, expected: str) -> None:
    assert one_line(text) == expected


def test_a_long_text_is_cut() -> None:
    assert len(one_line("word " * 10_000)) < 2100


def test_lines_stay_and_nothing_moves_the_cursor_or_reverses_the_text(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show("a\n b\x1b[2J\x9b3m\r\u202ec\u2066\u200f Zoë, 日本", end="|")
    say("d\x1b]0;e\x07")
    assert capsys.readouterr() == ("a\n b?[2J?3m??c?? Zoë, 日本|", "d?]0;e?\n")
    assert printable("") == ""


def test_log_records() -> None:
    record = logging.LogRecord("x", logging.WARNING, "", 0, "a\nb\x1b %s", ("c\r",), None)
    assert LineFormatter("%(levelname)s: %(message)s").format(record) == "WARNING: a b? c"


@pytest.mark.parametrize("value", ["a\nb", "\x1b[2J", "\0", "a\x7f"])
def test_no_text_setting_takes_control_characters(value: str) -> None:
    assert not is_plain(value)
    with pytest.raises(ParameterError, match="must not hold control characters"):
        Parameter("run_name", str, False, "x", "").checked(value)


def test_a_text_of_another_encoding_is_named_as_such() -> None:
    """Python in the locale C reads an é like this."""
    value = b"caf\xc3\xa9".decode("ascii", "surrogateescape")
    with pytest.raises(ParameterError, match="must be UTF-8, in a locale of UTF-8, such as LC_ALL"):
        Parameter("run_name", str, False, "x", "").checked(value)


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
