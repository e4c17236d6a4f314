"""From times online to rounds."""

from __future__ import annotations

import numpy as np

from f3ast_tff.availability.logs.device_traces import DAY, MAX_STATES
from f3ast_tff.availability.logs.log_entries import Entries
from f3ast_tff.availability.logs.time_units import duration_text
from f3ast_tff.core.errors import DataError

# Visits far shorter than a round, and how many tell.
_SHORT, _MANY_VISITS = 0.5, 10
# More rounds than this must have entries: ten rounds per entry.
_MANY_ROUNDS, _ROUNDS_PER_ENTRY = 100_000, 10


def round_starts(
    first: float, last: float, round_seconds: int, *, devices: int, entries: int, name: str
) -> np.ndarray:
    """Returns the times at which the rounds of a log start, `float64 [T]`.

    Raises:
        DataError: If there are too many rounds.
    """
    first = np.floor(first / round_seconds) * round_seconds
    rounds = max(int(np.ceil((last - first) / round_seconds)), 1)
    many = f"{name}: {rounds} rounds of {round_seconds} s"
    if rounds > max(_MANY_ROUNDS, _ROUNDS_PER_ENTRY * entries):
        raise DataError(
            f"{many}, and only {entries} times: has a time another clock? Else give longer rounds, "
            "or the times' unit by --time_unit (of a run --table_time_unit)"
        )
    if rounds * devices > MAX_STATES:
        allowed = f"more than {MAX_STATES} states; give longer rounds"
        raise DataError(f"{many} and {devices} devices: {allowed}")
    return np.asarray(first + round_seconds * np.arange(float(rounds)))


def short_log(
    first: float, last: float, round_seconds: int, visits: np.ndarray | None = None
) -> list[str]:
    """Returns, in words, that a log is shorter than a round, or its visits are.

    Args:
        first: First time, seconds.
        last: Last time.
        round_seconds: Length of a round.
        visits: Lengths of the visits of a log that counts from its start, `float64 [m]`; they tell
            seconds from minutes only if there are many.
    """
    if last - first >= round_seconds:
        if visits is None or len(visits) < _MANY_VISITS or last - first >= DAY:
            return []
        usual = float(np.median(visits))
        if usual >= _SHORT * round_seconds:
            return []
        return [
            f"as seconds it lasts {duration_text(last - first)}, and half of the visits "
            f"{duration_text(usual)} at most, of rounds of {duration_text(round_seconds)}: are "
            "the times minutes (--time_unit=min; of a run --table_time_unit)? Else give shorter "
            "rounds"
        ]
    return [
        f"all times lie within {duration_text(last - first)}, less than a round of "
        f"{duration_text(round_seconds)}: give shorter rounds, or are the times in another unit "
        "than seconds?"
    ]


def starts_of(entries: Entries, round_seconds: int, name: str) -> np.ndarray:
    """Returns the times at which the rounds of a log start; see `round_starts`."""
    return round_starts(
        entries.first,
        entries.last,
        round_seconds,
        devices=len(entries.names),
        entries=len(entries.times),
        name=name,
    )


def shares_of(entries: Entries, round_seconds: int) -> np.ndarray:
    """Returns the share of rounds in which each device is online, `float64 [D]`.

    Raises:
        DataError: See `round_starts`.
    """
    return entries.in_rounds(starts_of(entries, round_seconds, "the log")).mean()
