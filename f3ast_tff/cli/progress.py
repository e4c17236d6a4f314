"""The progress of a run: a bar in a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections import deque
from typing import Any

from f3ast_tff.core.progress import duration, say, terminal_bar
from f3ast_tff.run.metrics import Row

_LINE_EVERY_S = 30.0
_WINDOW_S = 10.0


class ProgressBar:
    """Round, seconds per round, time left and accuracy.

    Without a terminal it is a line per evaluation, and one every 30 s where rounds are slow.
    """

    def __init__(self, name: str, rounds: int) -> None:
        """Takes the run's name and its number of rounds."""
        self._name = name
        self._rounds = rounds
        self._bar: Any = None
        self._accuracy = ""
        self._done = 0
        self._first = True
        self._shown = 0.0
        # Times at which so many rounds were done.
        self._past: deque[tuple[float, int]] = deque()

    def start(self, first_round: int) -> None:
        """See `f3ast_tff.run.callbacks.Progress`."""
        self._done = first_round - 1
        self._shown = time.monotonic()
        self._past.append((self._shown, self._done))
        if first_round > 1:
            say(f"{self._name}: resuming from round {first_round}")
        elif sys.stderr.isatty():
            say(self._name)
        self._bar = terminal_bar(
            total=self._rounds,
            initial=self._done,
            unit="round",
            dynamic_ncols=True,
            bar_format="round {n_fmt}/{total_fmt} |{bar}| {desc}",
        )

    def advance(self, rounds: int, row: Row | None) -> None:
        """See `f3ast_tff.run.callbacks.Progress`."""
        now = time.monotonic()
        self._done += rounds
        per_round = self._seconds_per_round(now)
        if row is not None:
            self._accuracy = f", accuracy {row['test_sample_accuracy']:.4f}"
        left = duration(per_round * (self._rounds - self._done))
        told = f"{per_round:.2g} s per round, ETA {left}{self._accuracy}"
        with contextlib.suppress(OSError):  # The terminal may be gone.
            if self._bar is not None:
                self._bar.set_description_str(told, refresh=False)
                self._bar.update(rounds)
            elif row is not None or now - self._shown > _LINE_EVERY_S:
                say(f"{self._name}: round {self._done}/{self._rounds}, {told}")
                self._shown = now

    def _seconds_per_round(self, now: float) -> float:
        """Over the last seconds; without the first block, which compiles, once there are others."""
        past = self._past
        past.append((now, self._done))
        if len(past) > 2 and (self._first or past[1][0] < now - _WINDOW_S):
            past.popleft()
            self._first = False
        (before, done), (after, now_done) = past[0], past[-1]
        return (after - before) / (now_done - done)

    def close(self) -> None:
        """Draws the bar a last time and ends its line; again does nothing."""
        if self._bar is not None and not self._bar.disable:
            with contextlib.suppress(OSError):
                self._bar.close()
