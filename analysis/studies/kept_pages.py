"""Writes the tables of a page again, each from the command above it, and the numbers of its text.

python -m f3ast_tff.analysis.studies.kept_pages --page analysis/studies/NAME/page.md

Each command that prints tables, of modules beside this one, has a separate ```sh block on a page.
Its output follows, up to the next heading, the next ```sh block, or a line `<!-- end -->`. A
command that writes a file (--out, --picture) or reads runs (--runs) prints no tables.
`page_numbers` says how numbers in the text are marked. Run this module from the root of the
repository, where the paths in commands start.
"""

from __future__ import annotations

import io
import re
import shlex
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from f3ast_tff.analysis.command_line import command
from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.studies import page_numbers
from f3ast_tff.analysis.texts import wrapped
from f3ast_tff.files.atomic import atomic_write
from f3ast_tff.files.messages import show
from f3ast_tff.settings import REQUIRED, parameter

_PYTHON = ["python", "-m"]
# Modules whose commands print tables.
_TABLES = ("f3ast_tff.analysis.studies.", "f3ast_tff.analysis.leaderboard.tables")
# Flags of commands that write a file, or need folders of runs.
_NO_TABLES = ("--out", "--picture", "--runs")
_BLOCK = re.compile(r"^```sh\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
_END = re.compile(r"^(?:#|```sh$|<!-- end -->$|<!-- numbers$)", re.MULTILINE)


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    page: str = parameter(REQUIRED, "Markdown file to bring up to date", is_path=True)


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Rewrites the page."""
    path = Path(flags.page)
    try:
        old = path.read_text(encoding="utf-8")
    except OSError as error:
        raise RunsError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise RunsError(f"{path} is no UTF-8 text: {error}") from error
    new = refreshed(old)
    if new != old:
        with atomic_write(path, encoding="utf-8") as file:
            file.write(new)
    show(f"{path}: {'written' if new != old else 'up to date'}")


def commands(page: str) -> list[list[str]]:
    """Returns the words of each command in the ```sh blocks of a page, in their order.

    Raises:
        RunsError: If a quote in a command is not closed.
    """
    return [words for block in _BLOCK.finditer(page) for words in _commands(block[1])]


def refreshed(page: str) -> str:
    """Returns a page with the current output of its commands of tables, and current numbers.

    Raises:
        RunsError: If a command fails or shares a block with other commands, a quote is not closed,
            or see `page_numbers.refreshed`.
    """
    parts = []
    place = 0
    for block in _BLOCK.finditer(page):
        every = _commands(block[1])
        if not any(_is_tables(words) for words in every):
            continue
        if len(every) > 1:
            raise RunsError(f"{' '.join(every[0])}: needs a ```sh block of its own")
        end = _END.search(page, block.end())
        rest = page[end.start() :] if end else ""
        parts += [page[place : block.end()], "\n", _printed(every[0]), "\n" if rest else ""]
        place = len(page) - len(rest)
    return page_numbers.refreshed("".join([*parts, page[place:]]))


def _commands(block: str) -> list[list[str]]:
    lines = block.replace("\\\n", " ").splitlines()
    return [words for words in map(_words, lines) if words]


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line, comments=True)
    except ValueError as error:
        raise RunsError(f"the command {line.strip()!r} cannot be read: {error}") from error


def _is_tables(words: Sequence[str]) -> bool:
    flags = {word.partition("=")[0] for word in words}
    prints = any(word.startswith(_TABLES) for word in words[2:3]) and flags.isdisjoint(_NO_TABLES)
    return words[:2] == _PYTHON and prints


def _printed(words: Sequence[str]) -> str:
    printed = io.StringIO()
    with redirect_stdout(printed):
        code = import_module(words[2]).main(words[2:])
    if code:
        raise RunsError(f"this command failed: {shlex.join(words)}")
    return wrapped(printed.getvalue())


if __name__ == "__main__":
    sys.exit(main(sys.argv))
