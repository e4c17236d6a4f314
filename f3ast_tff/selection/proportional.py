"""Availability-agnostic sampling, the baseline of FedAvg and FedAdam (reading R3)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from f3ast_tff.local_training import check_client_shares
from f3ast_tff.randomness import generator
from f3ast_tff.selection.choosing import draw_by_weight
from f3ast_tff.selection.strategy import BaseStrategy, Cohort, Round


@dataclass(frozen=True)
class Proportional(BaseStrategy):
    """Samples available clients with probability proportional to p_k (Sec. IV, baselines).

    The weights are meant for a weighted mean.

    Attributes:
        p: Client shares p_k, `float64 [N]`.
        average_weights: Weight of each client in the mean, `float64 [N]`: ones for a plain
            average, numbers of examples for one by data size.
        replace: Whether sampling is with replacement.
        seed: Seed of the draws.
    """

    aggregation: ClassVar[str] = "mean"

    p: np.ndarray
    average_weights: np.ndarray
    replace: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        check_client_shares(self.p)

    def renewed(self, p: np.ndarray, joined: np.ndarray, initial_rate: float) -> Proportional:
        """See `Renewable.renewed`."""
        return replace(self, p=p)

    def select(self, now: Round) -> np.ndarray:
        """See `Strategy.select`; a constraint goes through the draws in order.

        Raises:
            ValueError: If sampling is with replacement and the constraint is not a number.
        """
        rng = generator(self.seed, "selection", now.number)
        candidates = np.flatnonzero(now.available)
        if now.feasible.counts_only:
            return draw_by_weight(candidates, self.p, now.feasible.k, rng, replace=self.replace)
        if self.replace:
            raise ValueError("sampling with replacement knows no constraint but the number")
        return now.feasible.admit(draw_by_weight(candidates, self.p, len(candidates), rng))

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        """See `Strategy.weigh`."""
        return Cohort(ids[delivered], self.average_weights[ids[delivered]])
