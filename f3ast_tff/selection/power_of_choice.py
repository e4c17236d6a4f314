"""Power-of-Choice (Cho et al. 2020): of d candidates, the K with the highest loss."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from f3ast_tff.local_training import check_client_shares
from f3ast_tff.randomness import generator
from f3ast_tff.selection.choosing import draw_by_weight, ranked
from f3ast_tff.selection.strategy import BaseStrategy, Cohort, Losses, Round


@dataclass(frozen=True)
class PowerOfChoice(BaseStrategy):
    """Draws d available candidates by p_k and trains the K of highest current loss (Sec. IV-c).

    Only the candidates are asked for their loss. The weights are meant for a mean.

    Attributes:
        p: Client shares p_k, `float64 [N]`.
        candidates: d, at least K.
        seed: Seed of the draws.
        replace: Whether candidates are drawn with replacement; one drawn twice may train twice.
        added: What is added to the loss of each client, `float64 [N]`; `None` for nothing.
        average_weights: Weight of each client in the mean, `float64 [N]`; `None` for a plain one.
    """

    needs_losses: ClassVar[bool] = True
    aggregation: ClassVar[str] = "mean"

    p: np.ndarray
    candidates: int
    seed: int = 0
    replace: bool = False
    added: np.ndarray | None = None
    average_weights: np.ndarray | None = None

    def __post_init__(self) -> None:
        check_client_shares(self.p)

    @property
    def client_loss(self) -> str:
        """See `BaseStrategy.client_loss`."""
        return "mean" if self.added is None else "met_in_training"

    def renewed(self, p: np.ndarray, joined: np.ndarray, initial_rate: float) -> PowerOfChoice:
        """See `Renewable.renewed`."""
        return replace(self, p=p)

    def select(self, now: Round) -> np.ndarray:
        """See `Strategy.select`; a constraint goes through the candidates, highest loss first.

        Minimum picks of a group are met as far as its clients are among the candidates.

        Raises:
            ValueError: If candidates are drawn with replacement and the constraint is not a number.
        """
        if self.replace and not now.feasible.counts_only:
            raise ValueError("sampling with replacement knows no constraint but the number")
        rng = generator(self.seed, "selection", now.number)
        reachable = np.flatnonzero(now.available)
        pool = draw_by_weight(reachable, self.p, self.candidates, rng, replace=self.replace)
        if len(pool) == 0:
            return pool
        reported = self._losses(pool, now.losses)
        # A client without a loss comes last, not in no order.
        reported[np.isnan(reported)] = -np.inf
        return now.feasible.admit(pool[ranked(np.arange(len(pool)), reported, rng)])

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        """See `Strategy.weigh`."""
        if self.average_weights is None:
            return super().weigh(now, ids, delivered)
        return Cohort(ids[delivered], self.average_weights[ids[delivered]])

    def _losses(self, pool: np.ndarray, losses: Losses) -> np.ndarray:
        asked = pool
        if self.replace:
            asked, places = np.unique(pool, return_inverse=True)
        reported = np.array(losses(asked), np.float64)
        if self.added is not None:
            reported += self.added[asked]
        return reported[places] if self.replace else reported
