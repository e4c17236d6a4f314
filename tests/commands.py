"""Commands in this process: their exit codes, and what they print."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from f3ast_tff.cli.main import main


class Printed(NamedTuple):
    """What was printed."""

    out: str
    err: str


class Cli:
    """`f3ast-tff` in this process; the fixture `cli` of every test."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def printed(self) -> Printed:
        """Returns what was printed since the last call."""
        return Printed(*self._capsys.readouterr())

    def said(self, code: int, expected: int = 0) -> Printed:
        """Returns what was printed since the last call, by a command with this exit code."""
        found = self.printed()
        assert code == expected, found
        return found

    def out(self, *words: str | Path) -> str:
        """Returns the output of a command that succeeds."""
        return self.said(main(["f3ast-tff", *map(str, words)])).out

    def err(self, *words: str | Path) -> str:
        """Returns the errors of a command that is refused."""
        return self.said(main(["f3ast-tff", *map(str, words)]), 2).err
