"""Uniform sampling of the available clients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from f3ast_tff.randomness import generator
from f3ast_tff.selection.strategy import BaseStrategy, Cohort, Round


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

    def select(self, now: Round) -> np.ndarray:
        """See `Strategy.select`."""
        rng = generator(self.seed, "selection", now.number)
        candidates = np.flatnonzero(now.available)
        if now.feasible.counts_only:
            return rng.choice(candidates, min(now.feasible.k, len(candidates)), replace=False)
        return now.feasible.admit(rng.permutation(candidates))

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        """See `Strategy.weigh`."""
        return Cohort(ids[delivered], self.average_weights[ids[delivered]])
