"""Text for a terminal or a log: without control characters; messages in one line, not too long."""

from __future__ import annotations

import io
import logging
import os
import re
import signal
import sys
import unicodedata

# Exit code of a command whose output nobody reads any more, as after `| head`.
NO_READER = 128 + signal.SIGPIPE
_LONGEST = 2000
_LONGEST_WORD = 300
# Controls (and so escape sequences), surrogates, and formats, which can reverse the reading order.
_UNSAFE = ("Cc", "Cs", "Cf", "Co", "Cn")
_WORD = re.compile(rf"\S{{{_LONGEST_WORD + 1},}}")


def print_any_character() -> None:
    """Makes stdout print `?` for characters outside its encoding, such as a minus sign in Latin-1.

    An error handler set by `PYTHONIOENCODING` stays; stderr already has an error handler.
    """
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="replace")


def discard_output() -> None:
    """Discards output that is not yet flushed, so that Python's end does not fail on it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def show(text: object = "", *, end: str = "\n", flush: bool = False) -> None:
    """Prints a text on stdout, see `printable`: all commands print by it, or by `say` on stderr."""
    print(printable(text), end=end, flush=flush)


def printable(text: object) -> str:
    r"""Returns a text that a terminal can show; line breaks stay.

    Characters that move the cursor, change colours or reverse the reading order become `?`.

    Examples:
        >>> from f3ast_tff.files.messages import printable
        >>> printable("a\x1b[2J\nb")
        'a?[2J\nb'
    """
    return "\n".join(map(_printable_line, str(text).split("\n")))


def _printable_line(line: str) -> str:
    if line.isprintable():
        return line
    return "".join("?" if unicodedata.category(c) in _UNSAFE else c for c in line)


def one_line(text: object) -> str:
    r"""Returns a text in one line that a terminal can show.

    White space becomes single spaces, and other unsafe characters become `?`. Long words and long
    texts are shortened, with a note of their length.

    Examples:
        >>> from f3ast_tff.files.messages import one_line
        >>> one_line("no such file: a\n  b\x1b[2J")
        'no such file: a b?[2J'
    """
    line = _printable_line(" ".join(str(text).split()))
    line = _WORD.sub(_shortened, line)
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}... ({len(line)} characters)"


def one_line_of(error: BaseException) -> str:
    """Returns type and text of any error in one line; only the type if its text fails."""
    try:
        text = one_line(error)
    except Exception:  # Foreign code in its `__str__` may fail.
        text = ""
    name = type(error).__name__
    return f"{name}: {text}" if text else name


def is_plain(text: str) -> bool:
    """Returns whether a text has no control character and can be written as UTF-8."""
    return text.isprintable() or all(unicodedata.category(c) not in ("Cc", "Cs") for c in text)


def _shortened(word: re.Match[str]) -> str:
    return f"{word[0][: _LONGEST_WORD // 2]}...({len(word[0])} characters)"


class LineFormatter(logging.Formatter):
    """Formats a record in one line, see `one_line`."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        """Returns the record in one line."""
        return one_line(super().formatMessage(record))
