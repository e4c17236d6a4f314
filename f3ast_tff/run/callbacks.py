"""Calls of the round loop to its caller: progress, rounds and evaluations."""

from __future__ import annotations

from typing import Protocol

from f3ast_tff.engines.engine import RoundOutcome
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.run.metrics import Row


class Progress(Protocol):
    """Receives the loop's progress."""

    def start(self, first_round: int) -> None:
        """Reports the first round of this start, 1 for a new run."""
        ...

    def advance(self, rounds: int, row: Row | None) -> None:
        """Reports that many more rounds; `row` holds the metrics of the last if evaluated."""
        ...


class Callback(Protocol):
    """Called for the rounds that are executed now: of a resumed run, the later ones."""

    def on_round(self, round_number: int, cohort: Cohort, outcome: RoundOutcome) -> None:
        """Called once for every round, in order; several rounds may have been executed before.

        The cohort holds the clients whose update arrived.
        """
        ...

    def on_evaluation(self, row: Row) -> None:
        """Called for every evaluated round, after its `on_round`."""
        ...
