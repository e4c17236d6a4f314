"""Always: every client in every round (Sec. IV-b, model 1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from f3ast_tff.availability.process import AvailabilityConfig, IndependentAvailability
from f3ast_tff.components import register


class Always(IndependentAvailability):
    """The baseline: q_k = 1."""

    def __init__(self, num_clients: int, seed: int = 0) -> None:
        """Makes the process for `num_clients` clients; the seed changes nothing."""
        super().__init__(np.ones(num_clients), seed)

    def mask(self, round_number: int) -> np.ndarray:
        """See `AvailabilityProcess.mask`; needs no draw."""
        return np.ones(self.num_clients, bool)


@register("availability", "always", "Always", about="every client in every round", order=1)
@dataclass(frozen=True)
class AlwaysConfig(AvailabilityConfig):
    """Configuration of `Always`."""

    def build(self, p: np.ndarray, seed: int) -> Always:
        """See `AvailabilityConfig.build`."""
        return Always(len(p), seed)
