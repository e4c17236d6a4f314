"""How far something long is, on stderr."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class _NoBar:
    """What stands for a bar where none is shown."""

    total: float | None = None

    def update(self, done: float) -> None:
        """Shows nothing."""

    def reset(self) -> None:
        """Shows nothing."""

    def close(self) -> None:
        """Shows nothing."""


def terminal_bar(**options: Any) -> Any | None:
    """Returns a new bar; `None` where stderr is no terminal, or tqdm is not installed.

    Args:
        **options: As of `tqdm.tqdm`.
    """
    if not sys.stderr.isatty() or importlib.util.find_spec("tqdm") is None:
        return None
    # Here, so that importing this needs nothing.
    from tqdm import tqdm

    return tqdm(**options)


@contextmanager
def progress(what: str, total: int, unit: str) -> Iterator[Any]:
    """Shows a bar in a terminal; elsewhere, or without tqdm, a line at the start.

    Args:
        what: What is being done.
        total: Number of units, 0 if not known.
        unit: `"B"` for bytes, else the unit's name.

    Yields:
        The bar, with tqdm's `total`, `update(units done)`, `reset` and `close`.
    """
    bar = terminal_bar(desc=what, total=total or None, unit=unit, unit_scale=unit == "B")
    if bar is None:
        print(f"{what} ...", file=sys.stderr, flush=True)
        yield _NoBar()
        return
    with bar:
        yield bar
