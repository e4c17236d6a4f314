"""F3AST, Algorithm 1: learn participation rates, pick where H falls most, weigh by p / r."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from f3ast_tff.objective import marginal_utility
from f3ast_tff.randomness import generator
from f3ast_tff.rates import ParticipationRates
from f3ast_tff.selection import drawing
from f3ast_tff.selection.cohort import Cohort
from f3ast_tff.selection.strategy import Losses


@dataclass(frozen=True)
class F3AST:
    """Selection and weights of Algorithm 1.

    Each round: the (at most) K available clients of largest -dH/dr (line 4), then the rates move
    (line 5), then they weigh the updates, w_k = p_k / r_k(t) (line 9). The weights are meant for
    a SUM, never a normalised mean.

    Attributes:
        p: Client shares p_k, `float64 [N]`.
        rates: The tracked rates, moved by every `select`.
        objective: `"p_squared"` or `"p"`, the case of eq. (3) (reading R9).
        random_ties: Whether equal utilities are ordered at random; else the lowest id wins
            (reading R11).
        fill_unavailable: Whether a round with fewer than K available clients also trains
            unavailable ones, lowest ids first, as the released code does (reading R17).
        divisor: What every weight is divided by: 1, or K in the released code (reading R2).
        seed: Seed of the tie-breaks.
    """

    needs_losses: ClassVar[bool] = False

    p: np.ndarray
    rates: ParticipationRates
    objective: str = "p_squared"
    random_ties: bool = True
    fill_unavailable: bool = False
    divisor: float = 1.0
    seed: int = 0

    def select(self, round_number: int, available: np.ndarray, k: int, losses: Losses) -> Cohort:
        """See `Strategy.select`; also moves the rates by one round."""
        rng = generator(self.seed, "selection", round_number) if self.random_ties else None
        utility = marginal_utility(self.rates.values, self.p, self.objective)
        ids = drawing.greedy(np.flatnonzero(available), utility, k, rng)
        if self.fill_unavailable and len(ids) < k:
            # Masked utilities are 0 for all of these, so ties decide: the lowest ids.
            ids = np.concatenate([ids, np.flatnonzero(~available)[: k - len(ids)]])
        self.rates.update(ids)
        return Cohort(ids, self.p[ids] / self.rates.values[ids] / self.divisor)

    def state(self) -> dict[str, np.ndarray]:
        """Returns the rates, all that F3AST remembers."""
        return {"rates": self.rates.values.copy()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Takes back saved rates."""
        self.rates.restore(state["rates"])
