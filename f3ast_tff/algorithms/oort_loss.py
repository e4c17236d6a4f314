"""The loss part of Oort (Lai et al., OSDI 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from f3ast_tff.algorithms.algorithm import AlgorithmConfig, World
from f3ast_tff.components import parameter, register
from f3ast_tff.selection import OortLoss, Strategy


@register(
    "algorithm",
    "oort_loss",
    "Oort (loss)",
    about="draws clients by n_k times the root mean square of their last losses, explores new ones",
    order=18,
)
@dataclass(frozen=True)
class OortLossConfig(AlgorithmConfig):
    """Configuration of `OortLoss`."""

    aggregation: ClassVar[str] = "mean"

    oort_exploration: float = parameter(
        0.9, "share of places for clients never tried, in round 1", minimum=0, maximum=1
    )
    oort_exploration_decay: float = parameter(
        0.98, "factor of that share from round to round", above=0, maximum=1
    )
    oort_exploration_min: float = parameter(0.2, "least such share", minimum=0, maximum=1)
    oort_cutoff: float = parameter(
        0.95,
        "draw clients whose score is at least this part of the last place's score",
        above=0,
        maximum=1,
    )

    @property
    def client_loss(self) -> str:
        """See `AlgorithmConfig.client_loss`: Oort's eq. (1)."""
        return "mean_squares"

    def build(self, world: World) -> Strategy:
        """See `AlgorithmConfig.build`."""
        return OortLoss(
            world.sizes.astype(np.float64),
            self.oort_exploration,
            self.oort_exploration_decay,
            self.oort_exploration_min,
            self.oort_cutoff,
            world.seed,
        )
