"""Power-of-Choice (Cho et al. 2020): of d candidates, the K with the highest loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from f3ast_tff.local_training import check_client_shares
from f3ast_tff.randomness import generator
from f3ast_tff.selection.choosing import draw_by_weight, ranked
from f3ast_tff.selection.feasible import Feasible
from f3ast_tff.selection.strategy import BaseStrategy, Cohort, Losses


@dataclass(frozen=True)
class PowerOfChoice(BaseStrategy):
    """Draws d available candidates by p_k and trains the K of highest current loss (Sec. IV-c).

    Only the candidates are asked for their loss. The weights are meant for a plain mean.

    Attributes:
        p: Client shares p_k, `float64 [N]`.
        candidates: d, at least K.
        seed: Seed of the draws.
    """

    needs_losses: ClassVar[bool] = True

    p: np.ndarray
    candidates: int
    seed: int = 0

    def __post_init__(self) -> None:
        check_client_shares(self.p)

    def select(
        self, round_number: int, available: np.ndarray, feasible: Feasible, losses: Losses
    ) -> Cohort:
        """See `Strategy.select`; a constraint goes through the candidates, highest loss first.

        Minimum picks of a group are met as far as its clients are among the candidates.
        """
        rng = generator(self.seed, "selection", round_number)
        pool = draw_by_weight(np.flatnonzero(available), self.p, self.candidates, rng)
        if len(pool) == 0:
            return Cohort(pool, np.zeros(0))
        reported = np.array(losses(pool), np.float64)
        # A diverged client has the highest loss of all, not an unordered one.
        reported[np.isnan(reported)] = np.inf
        ids = feasible.admit(pool[ranked(np.arange(len(pool)), reported, rng)])
        return Cohort(ids, np.ones(len(ids)))
