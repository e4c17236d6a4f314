"""Uniform sampling of the available clients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from f3ast_tff.randomness import generator
from f3ast_tff.selection.feasible import Feasible
from f3ast_tff.selection.strategy import BaseStrategy, Cohort, Losses


@dataclass(frozen=True)
class Uniform(BaseStrategy):
    """Samples available clients without replacement, each as likely as any other.

    Attributes:
        average_weights: Weight of each client in the mean, `float64 [N]`: ones for a plain
            average, numbers of examples for one by data size.
        seed: Seed of the draws.
    """

    aggregation: ClassVar[str] = "mean"

    average_weights: np.ndarray
    seed: int = 0

    def renewed(self, p: np.ndarray, joined: np.ndarray, initial_rate: float) -> Uniform:
        """See `Renewable.renewed`; it looks at nobody's share."""
        return self

    def select(
        self, round_number: int, available: np.ndarray, feasible: Feasible, losses: Losses
    ) -> Cohort:
        """See `Strategy.select`."""
        rng = generator(self.seed, "selection", round_number)
        candidates = np.flatnonzero(available)
        if feasible.counts_only:
            ids = rng.choice(candidates, min(feasible.k, len(candidates)), replace=False)
        else:
            ids = feasible.admit(rng.permutation(candidates))
        return Cohort(ids, self.average_weights[ids])
