"""The progress bar of a run."""

from __future__ import annotations

import sys
from typing import Any

from f3ast_tff.progress import terminal_bar
from f3ast_tff.training.metrics import Row


class ProgressBar:
    """Round, accuracy and time left; a line per evaluation where there is no terminal."""

    def __init__(self, name: str, rounds: int) -> None:
        """Takes the run's name and its number of rounds."""
        self._name = name
        self._rounds = rounds
        self._bar: Any = None

    def start(self, first_round: int) -> None:
        """See `f3ast_tff.training.run.Progress`."""
        if first_round > 1:
            self._say(f"{self._name}: resuming from round {first_round}")
        self._bar = terminal_bar(
            desc=self._name,
            total=self._rounds,
            initial=first_round - 1,
            unit="round",
            bar_format="{desc}: round {n_fmt}/{total_fmt} |{bar}| ETA {remaining}{postfix}",
        )

    def advance(self, rounds: int, row: Row | None) -> None:
        """See `f3ast_tff.training.run.Progress`."""
        if self._bar is not None:
            self._bar.update(rounds)
        if row is None:
            return
        accuracy = f"accuracy {row['test_sample_accuracy']:.4f}"
        if self._bar is not None:
            self._bar.set_postfix_str(accuracy)
        else:
            self._say(f"{self._name}: round {row['round']}/{self._rounds}, {accuracy}")

    def close(self) -> None:
        """Leaves the bar as it is."""
        if self._bar is not None:
            self._bar.close()

    @staticmethod
    def _say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)
