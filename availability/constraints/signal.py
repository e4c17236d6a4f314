"""A signal, such as the carbon intensity or the price of electricity, decides K_t."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from f3ast_tff.availability.logs.signal_files import read_signal
from f3ast_tff.availability.logs.time_units import UNITS
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.settings import REQUIRED, parameter, register
from f3ast_tff.settings.configuration import Settings

from .counts import FixedK

RULES = ("threshold", "proportion", "budget")
# Decimal values and times are rounded: values that agree to within this share are equal.
_ROUNDING = 1e-9


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
    signal_time_unit: str = parameter(
        "auto", "unit of the signal's times as numbers", choices=("auto", *UNITS)
    )
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
        unit = "" if self.signal_time_unit == "auto" else self.signal_time_unit
        signal = read_signal(Path(self.signal_file), unit)
        means = signal.round_means(self.signal_round_seconds)
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
        """Reads the file."""
        self.check(Settings.of({"num_clients": num_clients}))
        return super().build(num_clients, seed, update_bytes)

    def check(self, settings: Settings) -> None:
        """The file is read when it is built."""
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
