"""A line for each of R1 to R18: does it move the result, where, and by how much?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from f3ast_tff.analysis.report.reading_study import Effect

NUMBERS = tuple(f"R{n}" for n in range(1, 19))
# Those that no setting switches.
ONE_FORM = {
    "R7": "the LSTM has one form here",
    "R8": "Shakespeare's clients and sequences have one form here",
    "R14": "local steps are a setting of the task in both",
    "R15": "a round without clients is the same in both",
}


@dataclass(frozen=True)
class ReadingSummary:
    """What one reading does, over all places where it was switched alone.

    Attributes:
        number: `"R1"` to `"R18"`.
        leads: Effects on F3AST's lead over FedAvg.
        scores: Effects on algorithms' scores.
    """

    number: str
    leads: tuple[Effect, ...]
    scores: tuple[Effect, ...]

    @property
    def moves(self) -> str:
        """`yes` if any effect leaves out 0, `not seen` if all were judged and none does."""
        every = [effect.moves for effect in (*self.leads, *self.scores)]
        if not every:
            return ONE_FORM.get(self.number, "not run")
        if "yes" in every:
            return "yes"
        return "not seen" if "not seen" in every else "not enough runs"


def summarise(effects: Sequence[Effect]) -> list[ReadingSummary]:
    """Returns a summary for each of R1 to R18, in order.

    Its effects are sorted: those that leave out 0 first, the largest of them first.
    """
    found = []
    for number in NUMBERS:
        of_it = [e for e in effects if e.switch.partition(" ")[0] == number and e.found is not None]
        of_it.sort(key=lambda e: (e.moves != "yes", -abs(e.found.mean) if e.found else 0.0))
        leads = tuple(e for e in of_it if e.what == "lead")
        found.append(ReadingSummary(number, leads, tuple(e for e in of_it if e.what != "lead")))
    return found


def count(effects: Sequence[Effect]) -> str:
    """Returns in how many of their places effects leave out 0, such as `2 of 5`."""
    return f"{sum(e.moves == 'yes' for e in effects)} of {len(effects)}" if effects else "–"
