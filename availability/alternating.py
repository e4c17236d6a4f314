"""Alternating: two groups of clients take turns (FedLaAvg, Sec. 5.1 and Example 1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.availability.process import AvailabilityConfig
from f3ast_tff.components import parameter, register
from f3ast_tff.errors import ParameterError


class Alternating:
    """The first group for E rounds, then the second for ratio E rounds, and again from the start.

    A regular day and night: clients of two regions. In FedLaAvg's experiment the groups are the
    clients of the first five classes and of the other five; its Table 3 takes E from 1 to 15. The
    text, as we have it, has lost the formulas of its Sec. 5.1. In the authors' code
    (`diurnal_available`) E counts the rounds of the first group and ratio E, alpha E there, those
    of the second; its defaults are E = 10 and alpha = 0.5.

    Clients of a group are available together: positively correlated within it.
    """

    positively_correlated = True
    periodic = True

    def __init__(
        self,
        num_clients: int,
        seed: int = 0,
        period: int = 10,
        ratio: float = 1.0,
        group: np.ndarray | None = None,
    ) -> None:
        """Makes the process; the seed changes nothing.

        Args:
            num_clients: Number of clients N.
            seed: Unused.
            period: E, rounds of the first group, at least 1.
            ratio: Rounds of the second group over E; the product is rounded, and at least 1.
            group: Group of each client, 0 or 1, `int [N]`; by default the first half (rounded
                up) of the ids is group 0.

        Raises:
            ParameterError: If a group would have no round.
            ValueError: If `group` is not N zeros and ones.
        """
        if period < 1:
            raise ParameterError("alternating_period", period, "must be at least 1")
        if not (ratio > 0 and np.isfinite(ratio)) or round(ratio * period) < 1:
            allowed = f"must be finite and, times alternating_period, {period}, round to 1 or more"
            raise ParameterError("alternating_ratio", ratio, allowed)
        if group is None:
            group = np.arange(num_clients) >= (num_clients + 1) // 2
        group = np.asarray(group)
        if group.shape != (num_clients,) or not np.all((group == 0) | (group == 1)):
            raise ValueError(f"group must be {num_clients} zeros and ones")
        self.num_clients = num_clients
        self._second = group.astype(bool)
        self._rounds = (period, round(ratio * period))

    @property
    def stationary(self) -> np.ndarray:
        """Each group's share of the rounds, `float64 [N]`."""
        first, second = self._rounds
        return np.where(self._second, second, first) / (first + second)

    def mask(self, round_number: int) -> np.ndarray:
        """See `AvailabilityProcess.mask`."""
        first, second = self._rounds
        turn_of_first = (round_number - 1) % (first + second) < first
        return ~self._second if turn_of_first else self._second.copy()


@register("availability", "alternating", "Alternating", about="two groups take turns", order=6)
@dataclass(frozen=True)
class AlternatingConfig(AvailabilityConfig):
    """Configuration of `Alternating`."""

    positively_correlated: ClassVar[bool] = Alternating.positively_correlated

    alternating_period: int = parameter(
        10, "E, length of the first group's turn", minimum=1, units="rounds"
    )
    alternating_ratio: float = parameter(1.0, "rounds of the second group over E", above=0)

    def build(self, p: np.ndarray, seed: int) -> Alternating:
        """See `AvailabilityConfig.build`."""
        return Alternating(len(p), seed, self.alternating_period, self.alternating_ratio)

    def check(self, settings: Mapping[str, Any]) -> None:
        """See `AlgorithmConfig.check`."""
        self.build(np.ones(1), seed=0)
