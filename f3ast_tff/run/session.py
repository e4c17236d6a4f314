"""A run in a notebook or another interactive session: a progress bar, and Ctrl-C."""

from __future__ import annotations

import builtins
import contextlib
import logging
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from f3ast_tff.records.metrics import Row

_LOG = logging.getLogger(__name__)
# Time after which a bar is shown, seconds.
_DELAY_S = 1.0


def is_interactive() -> bool:
    """Returns whether a person waits for each call: in a notebook, or at Python's prompt."""
    return hasattr(sys, "ps1") or hasattr(builtins, "__IPYTHON__")


class Session:
    """Shows the progress of one run with tqdm, and stops it at Ctrl-C; a `Progress` and a `Stop`.

    The first Ctrl-C is a request to stop after the round, the next one raises `KeyboardInterrupt`.
    The environment variable TQDM_DISABLE, tqdm's own, turns the bar off.
    """

    def __init__(self, rounds: int) -> None:
        """Takes the number of rounds of the run."""
        self._rounds, self._done = rounds, 0
        self._bar: Any = None
        self._asked = False

    def start(self, first_round: int) -> None:
        """See `Progress.start`."""
        from tqdm.std import tqdm

        kind: Any = tqdm
        if hasattr(builtins, "__IPYTHON__") and _has_widgets():
            from tqdm.notebook import tqdm_notebook as kind
        self._done = first_round - 1
        self._bar = kind(
            total=self._rounds, initial=self._done, unit="round", leave=False, delay=_DELAY_S
        )

    def advance(self, rounds: int, row: Row | None) -> None:
        """See `Progress.advance`."""
        if row is not None:
            from f3ast_tff.records.metrics import shown_scores

            shown = shown_scores(row)[0]
            score = f"{shown.removeprefix('sample_')} {row[f'test_{shown}']:.4f}"
            self._bar.set_postfix_str(score, refresh=False)
        self._bar.update(rounds)

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Takes Ctrl-C over while rounds are executed."""
        # Only the main thread handles signals.
        ours = threading.current_thread() is threading.main_thread()
        before = signal.signal(signal.SIGINT, self._note) if ours else None
        try:
            yield
        finally:
            if before is not None:
                signal.signal(signal.SIGINT, before)
            if self._bar is not None:
                self._bar.close()

    def requested(self) -> bool:
        """Returns whether Ctrl-C was pressed."""
        return self._asked

    def _note(self, signum: int, frame: FrameType | None) -> None:
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True
        _LOG.warning("stopping after this round; Ctrl-C again ends the call without a result")


def _has_widgets() -> bool:
    """Whether tqdm's bar for notebooks can be shown."""
    try:
        import ipywidgets  # type: ignore[import-not-found]  # noqa: F401
    except ImportError:
        return False
    return True
