"""Scarce: independent, homogeneous, rare (Sec. IV-b, model 2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from f3ast_tff.availability.process import AvailabilityConfig, IndependentAvailability
from f3ast_tff.components import parameter, register
from f3ast_tff.errors import ParameterError


class Scarce(IndependentAvailability):
    """Every client with the same probability, in the paper q = 0.2."""

    def __init__(self, num_clients: int, seed: int, q: float = 0.2) -> None:
        """Makes the process.

        Args:
            num_clients: Number of clients N.
            seed: Seed of the draws.
            q: Probability of every client, in [0, 1].

        Raises:
            ParameterError: If it is not.
        """
        if not 0 <= q <= 1:
            raise ParameterError("scarce_q", q, "must be in [0, 1]")
        super().__init__(np.full(num_clients, q), seed)


@register(
    "availability", "scarce", "Scarce", about="every client with the same probability q", order=2
)
@dataclass(frozen=True)
class ScarceConfig(AvailabilityConfig):
    """Configuration of `Scarce`."""

    scarce_q: float = parameter(0.2, "probability of every client", minimum=0, maximum=1)

    def build(self, p: np.ndarray, seed: int) -> Scarce:
        """See `AvailabilityConfig.build`."""
        return Scarce(len(p), seed, self.scarce_q)
