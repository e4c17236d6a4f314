"""A selection strategy that learns from training losses: it picks the worst-fitted clients.

f3ast-tff run --plugin=greedy_loss.py --algorithm=greedy_loss --explore=0.2
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.methods import Outcome, Round
from f3ast_tff.methods.parts.algorithm import StrategyContext
from f3ast_tff.methods.parts.method import method
from f3ast_tff.methods.parts.selecting_method import SelectingMethod
from f3ast_tff.settings import parameter


@method("greedy_loss", "Greedy loss", about="trains whom the model fits worst")
@dataclass(frozen=True)
class GreedyLoss(SelectingMethod):
    """Ranks the available clients by their last training loss; draws some of the cohort at random.

    All updates have equal weight, by `BaseStrategy.weigh`, and are averaged.
    """

    needs_outcome: ClassVar[bool] = True
    aggregation: ClassVar[str] = "mean"

    explore: float = parameter(0.2, "share of the cohort drawn at random", minimum=0, maximum=1)

    def first_state(self, world: StrategyContext) -> dict[str, Any]:
        """Returns the loss of each client in its last training; infinite before its first."""
        return {"last_losses": np.full(world.num_clients, np.inf)}

    def select(self, now: Round) -> np.ndarray:
        """Picks the clients; see `f3ast_tff.methods.Strategy.select`."""
        ids = now.generator(self.seed).permutation(np.flatnonzero(now.available))
        at_random = ids[: int(self.explore * now.constraint.k)]
        others = np.setdiff1d(ids, at_random)
        worst_first = np.argsort(-self.kept["last_losses"][others], kind="stable")
        return now.constraint.admit(np.concatenate([at_random, others[worst_first]]))

    def observe(self, round_number: int, outcome: Outcome) -> None:
        """Notes the finite losses of the clients whose update arrived."""
        known = outcome.delivered & np.isfinite(outcome.losses)
        self.kept["last_losses"][outcome.ids[known]] = outcome.losses[known]
