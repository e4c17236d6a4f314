"""Progress of long work, on stderr."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from f3ast_tff.files.messages import one_line, printable

# Least time between two lines of a progress without a bar.
LINE_EVERY_S = 30.0


def owns_terminal() -> bool:
    """Whether stderr is a terminal that this process may draw on: a job behind others may not."""
    if not sys.stderr.isatty():
        return False
    try:
        return os.tcgetpgrp(sys.stderr.fileno()) == os.getpgrp()
    except OSError:
        # Not the terminal of this session, so that no shell has put it behind others.
        return True


def terminal_bar(**options: Any) -> Any | None:
    """Returns a new bar; `None` if this process owns no terminal.

    Args:
        **options: Options of `tqdm.tqdm`.
    """
    if not owns_terminal():
        return None
    # Imported here, so that importing this module needs no package.
    from tqdm import tqdm

    return tqdm(**options)


def duration(seconds: float) -> str:
    """Returns a time span as text: `42 s`, `7 min 5 s`, `3 h 20 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def say(line: str) -> None:
    """Prints a line on stderr, see `printable`, above any bars; nothing if the terminal is gone."""
    line = printable(line)
    with suppress(OSError):
        if sys.stderr.isatty():
            from tqdm import tqdm

            tqdm.write(line, file=sys.stderr)
        else:
            print(line, file=sys.stderr, flush=True)


class _Said(logging.Handler):
    """Prints each message once, even if many runs or rounds repeat it.

    Records with the same `once` are one message, such as a warning that names its round.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._lines: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        # The first line only: Python's warnings add a line of code.
        line = one_line(f"{record.levelname}: {record.getMessage()}".partition("\n")[0])
        key = record.__dict__.get("once", line)
        if key not in self._lines:
            self._lines.add(key)
            say(line)


@contextmanager
def warnings_said() -> Iterator[None]:
    """Prints logged warnings and errors, and Python's `warnings`, with `say`."""
    handler, logger = _Said(), logging.getLogger()
    logger.addHandler(handler)
    logging.captureWarnings(True)
    try:
        yield
    finally:
        logging.captureWarnings(False)
        logger.removeHandler(handler)


@contextmanager
def progress(what: str, total: int, unit: str) -> Iterator[Any]:
    """Shows a bar in a terminal; elsewhere prints a line at the start, then every half minute.

    Args:
        what: Name of the work.
        total: Number of units.
        unit: `"B"` for bytes, else the unit's name.

    Yields:
        The bar, a `tqdm`.
    """
    from tqdm import tqdm

    class Lines(tqdm):  # type: ignore[misc]
        """A bar as lines."""

        def display(self, msg: str | None = None, pos: int | None = None) -> None:
            """Says the share done, in place of drawing the bar."""
            if msg is None:
                share = f"{self.n / self.total:.0%}" if self.n and self.total else "..."
                say(f"{self.desc} {share}")

    options: dict[str, Any] = {"desc": printable(what), "total": total, "unit": unit}
    if owns_terminal():
        bar = tqdm(**options, unit_scale=unit == "B")
    else:
        bar = Lines(**options, leave=False, mininterval=LINE_EVERY_S, maxinterval=LINE_EVERY_S)
    with bar:
        yield bar
