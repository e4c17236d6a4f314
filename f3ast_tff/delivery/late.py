"""Late updates: an update arrives some rounds after the round in which the client was asked."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.randomness import uniforms
from f3ast_tff.delivery.delivery import Arrivals
from f3ast_tff.delivery.device_times import TimedConfig
from f3ast_tff.methods.parts.late import STALENESS_WEIGHTS
from f3ast_tff.settings import parameter, parameters_of, register
from f3ast_tff.settings.component import component_of
from f3ast_tff.settings.configuration import Settings

_LOGGER = logging.getLogger(__name__)

# Sources of tau.
SOURCES = ("clock", "geometric", "uniform", "fixed")
_OF_THE_CLOCK = (
    "late_round_seconds",
    "late_round_quantile",
    *(each.name for each in parameters_of(TimedConfig)),
)


def geometric(u: np.ndarray, mean: float) -> np.ndarray:
    """Returns draws from P(tau = j) = (1 - q) q^j with the mean q / (1 - q).

    tau is the largest j with 1 - q^j <= u, so that P(tau >= j) = q^j.

    Args:
        u: Uniform on [0, 1), `float64 [m]`.
        mean: Mean of the draws, at least 0.

    Returns:
        `int64 [m]`.
    """
    if mean == 0:
        return np.zeros(len(u), np.int64)
    return np.floor(np.log1p(-u) / math.log(mean / (1 + mean))).astype(np.int64)


@dataclass(frozen=True)
class LateConfig(TimedConfig):
    """Base of a delivery whose updates may enter in a later round than they were asked in."""

    is_late: ClassVar[bool] = True

    staleness_weight: str = parameter(
        "constant",
        "factor of the method's weight of an update that is tau rounds late: 1, 1 / sqrt(1 + tau) "
        "or 1 / (1 + tau)",
        choices=STALENESS_WEIGHTS,
        method_specific=True,
    )

    def check(self, settings: Settings) -> None:
        super().check(settings)
        if settings.num_workers is not None:
            late = f"delivery={component_of(self).name}"
            allowed = f"must not be given with {late}: the updates under way are kept here"
            raise ParameterError("num_workers", settings.num_workers, allowed)


@register(
    "delivery",
    "late",
    "Late",
    about="an update arrives rounds after it was asked for, computed at the model sent then",
    order=6,
)
@dataclass(frozen=True)
class Late(LateConfig):
    """The update of client k asked in round t arrives in round t + tau_{k,t}.

    It is computed at the model of round t. With the clock every round lasts L seconds. An update
    that takes s_{k,t} seconds arrives in the round in which these end: tau = ceil(s_{k,t} / L) - 1.
    Other sources draw tau anew for each client and round, and have no clock. An update with tau
    above the limit is lost: the server gives it up after that many rounds.

    Examples:
        >>> from f3ast_tff import simulate
        >>> from f3ast_tff.delivery import Late
        >>> late = Late(late_by="fixed", late_rounds=2)
        >>> found = simulate(delivery=late, rounds=5).selection
        >>> found["num_selected"].tolist(), found["num_delivered"].tolist()
        ([10, 10, 10, 10, 10], [0, 0, 10, 10, 10])
    """

    late_by: str = parameter(
        "clock",
        "rounds tau after which an update arrives: from the devices' times, or drawn: geometric, "
        "uniform on 0 .. 2 late_rounds, or the same for all",
        choices=SOURCES,
    )
    late_rounds: float | None = parameter(
        None,
        "mean of tau, 2 by default; for late_by geometric, uniform and fixed",
        minimum=0,
        maximum=1000,
        units="rounds",
    )
    late_round_seconds: float | None = parameter(
        None,
        "duration of a round, for late_by=clock; by default late_round_quantile decides",
        above=0,
        units="seconds",
    )
    late_round_quantile: float = parameter(
        0.5, "a round lasts this quantile over clients of their typical time", above=0, maximum=1
    )
    late_most_rounds: int = parameter(
        50, "an update of larger tau is lost", minimum=0, maximum=10000, units="rounds"
    )

    def prepare(self) -> None:
        """Warns of settings that `late_by` leaves without effect."""
        super().prepare()
        for name in ("late_rounds",) if self.late_by == "clock" else _OF_THE_CLOCK:
            value = getattr(self, name)
            if value != getattr(Late, name):
                _LOGGER.warning("%s=%s has no effect with late_by=%s", name, value, self.late_by)

    def of_clients(self) -> dict[str, np.ndarray]:
        """See `TimedConfig.of_clients`; nothing without a clock."""
        return super().of_clients() if self.late_by == "clock" else {}

    @property
    def mean_rounds(self) -> float:
        """Mean of tau, if it is drawn."""
        return 2.0 if self.late_rounds is None else self.late_rounds

    @cached_property
    def round_seconds(self) -> float:
        """L, seconds; NaN without a clock."""
        if self.late_by != "clock":
            return math.nan
        if self.late_round_seconds is not None:
            return self.late_round_seconds
        typical = self.typical(np.flatnonzero(self.world.examples > 0))
        return float(np.quantile(typical, self.late_round_quantile))

    def arrivals(self, round_number: int, ids: np.ndarray) -> Arrivals:
        tau, seconds = self._delays(round_number, ids)
        delivered = tau <= self.late_most_rounds
        rounds = np.minimum(tau, self.late_most_rounds)
        seconds = np.where(delivered, seconds, np.inf)
        return Arrivals(delivered, seconds, self.round_seconds, rounds=rounds)

    def _delays(self, round_number: int, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Tau and the seconds, NaN without a clock, of each client."""
        if self.late_by == "clock":
            seconds = self.seconds(round_number, ids)
            with np.errstate(over="ignore"):
                rounds = np.ceil(seconds / self.round_seconds)
            # The float may be beyond any integer.
            rounds = np.minimum(rounds, self.late_most_rounds + 2)
            return np.maximum(rounds.astype(np.int64) - 1, 0), seconds
        unknown = np.full(len(ids), math.nan)
        if self.late_by == "fixed":
            return np.full(len(ids), int(self.mean_rounds), np.int64), unknown
        u = uniforms(self.world.seed, "late", ids, round_number)
        if self.late_by == "geometric":
            return geometric(u, self.mean_rounds), unknown
        return np.floor(u * (2 * self.mean_rounds + 1)).astype(np.int64), unknown

    def check(self, settings: Settings) -> None:
        if self.late_by == "fixed" and self.mean_rounds != int(self.mean_rounds):
            allowed = "must be a whole number with late_by=fixed"
            raise ParameterError("late_rounds", self.late_rounds, allowed)
        if self.late_by == "uniform" and 2 * self.mean_rounds != int(2 * self.mean_rounds):
            allowed = "twice it must be a whole number with late_by=uniform"
            raise ParameterError("late_rounds", self.late_rounds, allowed)
        super().check(settings)
