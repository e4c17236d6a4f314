"""Selection of every available client, shared by most methods with a memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from f3ast_tff.core.choosing import uniform_part
from f3ast_tff.core.lazy_names import renamed
from f3ast_tff.methods.parts.algorithm import MEAN_OF_AVAILABLE
from f3ast_tff.methods.parts.selecting_method import RenewedMethod, takes_old_arguments
from f3ast_tff.methods.parts.strategy import BaseStrategy, Cohort, Round


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


@takes_old_arguments
@dataclass(frozen=True)
class AllAvailable(RenewedMethod, TakesAvailable):
    """Takes all available clients with weights p_k, for a SUM: Delta = sum_{k in S} p_k D_k.

    If all clients are available, this is FedAvg. Otherwise the step is short, and more available
    clients count for more, pi_k p_k. So this is the baseline of methods that correct this bias. If
    the constraint admits fewer clients, they are drawn uniformly (see `uniform_part`). Clients not
    drawn are absent, and no weight grows.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.methods import Round, RoundConstraint, cohort_of
        >>> from f3ast_tff.methods.parts.all_available import AllAvailable
        >>> now = Round(1, np.array([True, False, True]), RoundConstraint(3))
        >>> cohort = cohort_of(AllAvailable.start([0.5, 0.3, 0.2], k=3), now)
        >>> cohort.ids.tolist(), cohort.weights.tolist()
        ([0, 2], [0.5, 0.2])
    """

    client_share: ClassVar[str] = "equal"
    corrects: ClassVar[Mapping[str, str]] = MEAN_OF_AVAILABLE


__getattr__ = renamed(__name__, AllAvailableConfig=AllAvailable)
