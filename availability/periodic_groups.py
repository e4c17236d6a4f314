"""Periodic groups: G groups, each on and off in turn (amplified FedAvg, arXiv 2205.13648)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from f3ast_tff.availability.draws import smallest_integers
from f3ast_tff.availability.process import AvailabilityConfig
from f3ast_tff.components import parameter, register
from f3ast_tff.errors import ParameterError
from f3ast_tff.randomness import generator


class PeriodicGroups:
    """Group g is available in round t if (t - 1 + o - g on) mod (on + off) is below `on`.

    Wang and Ji, "A Unified Analysis of Federated Learning with Arbitrary Client Participation",
    NeurIPS 2022: five groups, each 100 rounds on and 400 off, so that there is always one. The
    common offset o is drawn from 0 .. on - 1, as in the public code.

    Clients of a group are available together: positively correlated within it.

    Attributes:
        group: Group of each client, unsigned `int [N]`: G blocks of ids, as equal as can be.
    """

    positively_correlated = True
    periodic = True

    def __init__(
        self, num_clients: int, seed: int, groups: int = 5, on: int = 100, off: int = 400
    ) -> None:
        """Makes the process.

        Args:
            num_clients: Number of clients N.
            seed: Seed of the offset.
            groups: G, at least 1.
            on: Rounds that a group is available for, at least 1.
            off: Rounds that it is then away for, at least 0.

        Raises:
            ParameterError: If a value is not allowed.
        """
        for name, value, least in (
            ("groups_number", groups, 1),
            ("groups_on", on, 1),
            ("groups_off", off, 0),
        ):
            if value < least:
                raise ParameterError(name, value, f"must be at least {least}")
        self.num_clients = num_clients
        self.group = smallest_integers(np.arange(num_clients) * groups // max(num_clients, 1))
        self._on, self._period = on, on + off
        offset = int(generator(seed, "periodic groups").integers(on))
        self._lag = np.arange(groups) * on - offset

    @property
    def stationary(self) -> np.ndarray:
        """On / (on + off), `float64 [N]`."""
        return np.full(self.num_clients, self._on / self._period)

    def mask(self, round_number: int) -> np.ndarray:
        """See `AvailabilityProcess.mask`."""
        return ((round_number - 1 - self._lag) % self._period < self._on)[self.group]


@register(
    "availability",
    "periodic_groups",
    "Periodic groups",
    about="groups of clients on and off in turn (amplified FedAvg)",
    order=22,
)
@dataclass(frozen=True)
class PeriodicGroupsConfig(AvailabilityConfig):
    """Configuration of `PeriodicGroups`."""

    positively_correlated: ClassVar[bool] = PeriodicGroups.positively_correlated

    groups_number: int = parameter(
        5, "number of groups, blocks of client ids", minimum=1, maximum=10**6
    )
    groups_on: int = parameter(100, "time a group is available", minimum=1, units="rounds")
    groups_off: int = parameter(400, "time it is then away", minimum=0, units="rounds")

    def build(self, p: np.ndarray, seed: int) -> PeriodicGroups:
        """See `AvailabilityConfig.build`."""
        return PeriodicGroups(len(p), seed, self.groups_number, self.groups_on, self.groups_off)
