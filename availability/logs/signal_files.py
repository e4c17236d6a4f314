"""Signals from files: a value over time, such as the price of electricity."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr

import numpy as np

from f3ast_tff.availability.logs.log_times import read_times
from f3ast_tff.core.errors import DataError, ParameterError
from f3ast_tff.files.data_files import read_text
from f3ast_tff.settings.text_values import number_in

HEADER = "time,value"
_MAX_BYTES = 2**26
_MAX_ROUNDS = 10**7
_LARGEST = 1e15
_BLANKS = re.compile(r'[\s"]')


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


def read_signal(path: Path, time_unit: str = "") -> Signal:
    """Reads a signal: a line `time,value`, then a line per value, with rising times.

    A time is a number or a date and time such as 2024-01-31T18:00:00, as in logs (UTC if it names
    no zone). The last value holds as long as the value before it.

    Args:
        path: A CSV file of at most 64 MiB, two values or more.
        time_unit: Unit of times as numbers, one of `time_units.UNITS`; empty to decide by them.

    Raises:
        DataError: If the file is missing or damaged, or its times may be of two units; names the
            line.
    """
    import pandas as pd

    try:
        lines = read_text(path, _MAX_BYTES).splitlines()
        if not lines or _BLANKS.sub("", lines[0]).lower() != HEADER:
            raise DataError(f"line 1 must be {HEADER}")
        rows = {n: _row(line, n) for n, line in enumerate(lines[1:], 2) if line.strip()}
        if len(rows) < 2:
            raise DataError("must have two values or more")
        index = pd.Index(list(rows), name="line")
        column = pd.Series([time for time, _ in rows.values()], index, dtype=object, name="time")
    except FileNotFoundError as error:
        raise DataError(f"{path}: there is no such file") from error
    except (OSError, ValueError, OverflowError, DataError) as error:
        raise DataError(f"{path}: {error}") from error
    (times,) = read_times([column], str(path), time_unit, flags="--signal_time_unit").seconds
    late = np.flatnonzero(np.diff(times) <= 0)
    if len(late):
        allowed = "its time does not come after the one before"
        raise DataError(f"{path}: value {late[0] + 2}: {allowed}")
    values = np.array([value for _, value in rows.values()])
    return Signal(np.append(times, 2 * times[-1] - times[-2]), values)


def _row(line: str, number: int) -> tuple[str, float]:
    time, comma, value = (part.strip(' \t"') for part in line.partition(","))
    try:
        found = number_in(value)
    except ValueError as error:
        raise DataError(f"line {number}: {repr(line)} is not a time and a value") from error
    if not comma or not abs(found) <= _LARGEST:
        raise DataError(
            f"line {number}: {repr(line)} is not a time and a value within {_LARGEST:g}"
        )
    return time, found
