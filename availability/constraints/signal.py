"""A signal, such as the carbon intensity or the price of electricity, decides K_t."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from reprlib import repr
from typing import Any

import numpy as np

from f3ast_tff.core.data_files import read_text
from f3ast_tff.core.errors import DataError, ParameterError
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.settings import REQUIRED, parameter, register

from .counts import FixedK

HEADER = "time,value"
RULES = ("threshold", "proportion", "budget")
_MAX_BYTES = 2**26
_MAX_ROUNDS = 10**7
_LARGEST = 1e15
# Decimal values and times are rounded: values that agree to within this share are equal.
_ROUNDING = 1e-9


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
        # Python 3.9 knows no Z.
        when = datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)
        return (when if when.tzinfo else when.replace(tzinfo=timezone.utc)).timestamp()


@register(
    "constraint",
    "signal",
    "K by a signal",
    about="signal: K_t follows the carbon intensity or price in a file",
    order=9,
)
@dataclass(frozen=True)
class SignalK(FixedK):
    """K_t follows a signal s_t, its mean over round t, between `signal_least_k` and K.

    - `threshold`: K if s_t is at most `signal_threshold`, else the least K;
    - `proportion`: K at the lowest s_t, the least K at the highest, linear between, rounded;
    - `budget`: floor(`signal_budget` / s_t), so that the cost of a round, K_t s_t, fits the budget.

    Examples:
        >>> import pandas as pd
        >>> from f3ast_tff.availability import SignalK
        >>> carbon = pd.DataFrame({"time": [0, 3600, 7200], "value": [100, 200, 400]})
        >>> carbon.to_csv("co2.csv", index=False)
        >>> config = SignalK(
        ...     signal_file="co2.csv", signal_rule="proportion", clients_per_round=7
        ... )
        >>> [config.build(num_clients=10).limit(t).k for t in (1, 2, 3, 4)]
        [7, 5, 1, 7]
    """

    signal_file: str = parameter(REQUIRED, "a CSV file: time and value", is_input=True)
    signal_rule: str = parameter("threshold", "how s_t decides K_t", choices=RULES)
    signal_round_seconds: float = parameter(3600.0, "length of a round", above=0, units="seconds")
    signal_least_k: int = parameter(1, "least K_t", minimum=1)
    signal_threshold: float | None = parameter(
        None, "for threshold: largest s_t for K clients; by default the signal's median"
    )
    signal_budget: float | None = parameter(
        None, "for budget: what a round may cost, in units of the signal; must be given", above=0
    )

    @cached_property
    def values(self) -> np.ndarray:
        """K_t until the signal begins again, `int64 [T]`."""
        means = read_signal(Path(self.signal_file)).round_means(self.signal_round_seconds)
        found = {
            "threshold": self._by_threshold,
            "proportion": self._in_proportion,
            "budget": self._within_budget,
        }[self.signal_rule](means)
        return np.clip(found, self.signal_least_k, self.clients_per_round).astype(np.int64)

    @property
    def largest_k(self) -> int:
        """The largest K_t."""
        return int(self.values.max())

    @property
    def mean_k(self) -> float:
        """The mean of K_t until the signal begins again."""
        return float(self.values.mean())

    def limit(self, round_number: int) -> RoundConstraint:
        return RoundConstraint(int(self.values[(round_number - 1) % len(self.values)]))

    def require(self) -> None:
        if self.arguments:
            raise self.refused("must be signal alone; its parameters are settings of their own")
        if self.signal_least_k > self.clients_per_round:
            allowed = f"must be at most clients_per_round, {self.clients_per_round}"
            raise ParameterError("signal_least_k", self.signal_least_k, allowed)
        if self.signal_rule == "budget" and self.signal_budget is None:
            raise ParameterError("signal_budget", "", "must be given with signal_rule=budget")
        for name, rule in (("signal_threshold", "threshold"), ("signal_budget", "budget")):
            if getattr(self, name) is not None and self.signal_rule != rule:
                allowed = f"only applies with signal_rule={rule}"
                raise ParameterError(name, getattr(self, name), allowed)

    def build(self, num_clients: int, seed: int = 0, update_bytes: int = 1) -> SignalK:
        """See `ConstraintConfig.build`; reads the file."""
        self.check({"num_clients": num_clients})
        return super().build(num_clients, seed, update_bytes)

    def check(self, settings: Mapping[str, Any]) -> None:
        """See `ConstraintConfig.check`; the file is read when it is built."""
        self.require()
        FixedK(clients_per_round=self.clients_per_round).check(settings)

    def _by_threshold(self, means: np.ndarray) -> np.ndarray:
        most = np.median(means) if self.signal_threshold is None else self.signal_threshold
        low = means <= most + _ROUNDING * abs(most)
        return np.where(low, self.clients_per_round, self.signal_least_k)

    def _in_proportion(self, means: np.ndarray) -> np.ndarray:
        least, k = self.signal_least_k, self.clients_per_round
        spread = np.ptp(means)
        varies = spread > _ROUNDING * np.abs(means).max()
        low = (means.max() - means) / spread if varies else np.ones(len(means))
        return np.rint(least + (k - least) * low)

    def _within_budget(self, means: np.ndarray) -> np.ndarray:
        assert self.signal_budget is not None
        budget = self.signal_budget * (1 + _ROUNDING)
        cheap = means * self.clients_per_round <= budget
        fitting = np.floor(budget / np.where(cheap, 1, means))
        return np.where(cheap, self.clients_per_round, fitting)
