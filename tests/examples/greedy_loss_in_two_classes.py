"""The plug-in greedy_loss.py as of release 0.2.0: a strategy, and a `Config` that builds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from f3ast_tff.core.randomness import generator
from f3ast_tff.methods import BaseStrategy, Outcome, Round
from f3ast_tff.methods.parts.algorithm import AlgorithmConfig, StrategyContext
from f3ast_tff.settings import parameter, register


@dataclass
class GreedyLoss(BaseStrategy):
    """Ranks the available clients by their last training loss; draws some of the cohort at random.

    All updates have equal weight, by `BaseStrategy.weigh`, and are averaged.

    Attributes:
        last_losses: Loss of each client in its last training, `float64 [N]`; infinite before its
            first.
        explore: Share of the cohort drawn at random, in [0, 1].
        seed: Seed of the draws.
    """

    needs_outcome: ClassVar[bool] = True
    aggregation: ClassVar[str] = "mean"

    last_losses: np.ndarray
    explore: float
    seed: int = 0

    def select(self, now: Round) -> np.ndarray:
        """Picks the clients; see `f3ast_tff.methods.Strategy.select`."""
        rng = generator(self.seed, "selection", now.number)
        ids = rng.permutation(np.flatnonzero(now.available))
        at_random = ids[: int(self.explore * now.constraint.k)]
        others = np.setdiff1d(ids, at_random)
        ranked = others[np.argsort(-self.last_losses[others], kind="stable")]
        return now.constraint.admit(np.concatenate([at_random, ranked]))

    def observe(self, round_number: int, outcome: Outcome) -> None:
        """Notes the finite losses of the clients whose update arrived."""
        known = outcome.delivered & np.isfinite(outcome.losses)
        self.last_losses[outcome.ids[known]] = outcome.losses[known]

    def saved_arrays(self) -> dict[str, np.ndarray]:
        """Returns the arrays that a checkpoint holds."""
        return {"last_losses": self.last_losses}


@register("algorithm", "greedy_loss", "Greedy loss", about="trains whom the model fits worst")
@dataclass(frozen=True)
class GreedyLossConfig(AlgorithmConfig):
    """Configuration of `GreedyLoss`."""

    aggregation: ClassVar[str] = "mean"

    explore: float = parameter(0.2, "share of the cohort drawn at random", minimum=0, maximum=1)

    def build(self, world: StrategyContext) -> GreedyLoss:
        """Builds the strategy for a federation."""
        return GreedyLoss(np.full(world.num_clients, np.inf), self.explore, world.seed)
