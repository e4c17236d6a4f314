"""Signals from files: a value over time, such as the price of electricity."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from reprlib import repr

import numpy as np

from f3ast_tff.core.errors import DataError, ParameterError
from f3ast_tff.files.data_files import read_text

HEADER = "time,value"
_MAX_BYTES = 2**26
_MAX_ROUNDS = 10**7
_LARGEST = 1e15


@dataclass(frozen=True)
class Signal:
    """A periodic step function of time: each value holds until the next time.

    Attributes:
        edges: Rising times, seconds, `float64 [n + 1]`; at the last the signal begins again.
        values: Finite values, `float64 [n]`.
    """

    edges: np.ndarray
    values: np.ndarray

    def round_means(self, round_seconds: float) -> np.ndarray:
        """Returns the mean over each round until the signal begins again, `float64 [T]`.

        Raises:
            ParameterError: If the length of the signal is not a whole number of rounds.
        """
        length = float(self.edges[-1] - self.edges[0])
        rounds = length / round_seconds
        if not 0.5 < rounds <= _MAX_ROUNDS or abs(rounds - round(rounds)) > 1e-6:
            allowed = f"must divide the length of the signal, {length:g} s, into whole rounds"
            raise ParameterError("signal_round_seconds", round_seconds, allowed)
        starts = self.edges[0] + length * np.arange(round(rounds)) / round(rounds)
        # Piece by piece: a value that holds throughout a round is its mean, unrounded.
        pieces = np.union1d(self.edges, starts)
        of_value = np.searchsorted(self.edges[1:-1], pieces[:-1], side="right")
        of_round = np.searchsorted(starts[1:], pieces[:-1], side="right")
        shares = np.diff(pieces) / round_seconds
        return np.bincount(of_round, shares * self.values[of_value], len(starts))


def read_signal(path: Path) -> Signal:
    """Reads a signal: a line `time,value`, then a line per value, with rising times.

    A time is a number of seconds, or a date and time such as 2024-01-31T18:00:00 (ISO 8601; UTC if
    it names no zone). The last value holds as long as the value before it.

    Args:
        path: A CSV file of at most 64 MiB, two values or more.

    Raises:
        DataError: If the file is missing or damaged; names the line.
    """
    try:
        lines = read_text(path, _MAX_BYTES).splitlines()
        if not lines or lines[0].replace(" ", "") != HEADER:
            raise DataError(f"line 1 must be {HEADER}")
        pairs = [_pair(line, n) for n, line in enumerate(lines[1:], 2) if line.strip()]
        if len(pairs) < 2:
            raise DataError("must have two values or more")
        times, values = np.array(pairs).T
        late = np.flatnonzero(np.diff(times) <= 0)
        if len(late):
            raise DataError(f"value {late[0] + 2}: its time does not come after the one before")
        return Signal(np.append(times, 2 * times[-1] - times[-2]), values)
    except FileNotFoundError as error:
        raise DataError(f"{path}: there is no such file") from error
    except (OSError, ValueError, OverflowError, DataError) as error:
        raise DataError(f"{path}: {error}") from error


def _pair(line: str, number: int) -> tuple[float, float]:
    time, comma, value = line.partition(",")
    try:
        found = _seconds(time.strip()), float(value)
    except ValueError as error:
        raise DataError(f"line {number}: {repr(line)} is not a time and a value") from error
    if not comma or not np.all(np.abs(found) <= _LARGEST):
        raise DataError(
            f"line {number}: {repr(line)} is not a time and a value within {_LARGEST:g}"
        )
    return found


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        when = datetime.fromisoformat(text)
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
