"""Selection of every available client, shared by most methods with a memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from f3ast_tff.core.choosing import uniform_part
from f3ast_tff.core.local_training import check_client_shares, renewed_shares
from f3ast_tff.methods.parts.algorithm import MEAN_OF_AVAILABLE, AlgorithmConfig, StrategyContext
from f3ast_tff.methods.parts.strategy import BaseStrategy, Cohort, Round, Strategy


class TakesAvailable(BaseStrategy):
    """Base of strategies that take all available clients, or a uniform part, with weights p_k.

    Attributes:
        p: Client shares p_k, `float64 [N]`; a client of share 0 takes no part.
        seed: Seed of the draws in rounds with more than K available clients.
    """

    p: np.ndarray
    seed: int

    def select(self, now: Round) -> np.ndarray:
        return self._drawn(now, self.p > 0)[0]

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        return Cohort(ids[delivered], self.p[ids[delivered]])

    def _drawn(self, now: Round, candidates: np.ndarray) -> tuple[np.ndarray, float]:
        """Returns the selected clients among the candidates, and the factor of `uniform_part`."""
        rng = now.generator(self.seed)
        return uniform_part(np.flatnonzero(now.available & candidates), now.constraint, rng)


@dataclass
class AllAvailable(TakesAvailable):
    """Takes all available clients with weights p_k, for a SUM: Delta = sum_{k in S} p_k D_k.

    If all clients are available, this is FedAvg. Otherwise the step is short, and more available
    clients count for more, pi_k p_k. So this is the baseline of methods that correct this bias. If
    the constraint admits fewer clients, they are drawn uniformly (see `uniform_part`). Clients not
    drawn are absent, and no weight grows.

    Attributes:
        p: Client shares p_k, `float64 [N]`; a client of share 0 takes no part.
        seed: Seed of the draws in rounds with more than K available clients.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.methods import Round, RoundConstraint, cohort_of
        >>> from f3ast_tff.methods.parts.all_available import AllAvailable
        >>> now = Round(1, np.array([True, False, True]), RoundConstraint(3))
        >>> cohort = cohort_of(AllAvailable(np.array([0.5, 0.3, 0.2])), now)
        >>> cohort.ids.tolist(), cohort.weights.tolist()
        ([0, 2], [0.5, 0.2])
    """

    method: ClassVar[str] = "fedavg_all"

    p: np.ndarray
    seed: int = 0

    def __post_init__(self) -> None:
        check_client_shares(self.p)

    def renewed(self, p: np.ndarray, joined: np.ndarray, initial_rate: float) -> AllAvailable:
        return replace(self, p=renewed_shares(p, len(self.p)))


@dataclass(frozen=True)
class AllAvailableConfig(AlgorithmConfig):
    """Base of methods that select as `AllAvailable`; they correct FedAvg over all clients."""

    client_share: ClassVar[str] = "equal"
    corrects: ClassVar[Mapping[str, str]] = MEAN_OF_AVAILABLE

    def build(self, world: StrategyContext) -> Strategy:
        return AllAvailable(world.p, world.seed)
