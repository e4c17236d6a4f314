"""ACED (arXiv 2511.19066): the mean of latest updates, without clients that are away for long."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from f3ast_tff.core.local_training import renewed_shares
from f3ast_tff.methods.parts.algorithm import StrategyContext
from f3ast_tff.methods.parts.all_available import AllAvailable, AllAvailableConfig
from f3ast_tff.methods.parts.strategy import Cohort, Round, Strategy
from f3ast_tff.settings import parameter, register


@dataclass
class Aced(AllAvailable):
    """Delta = sum_{k in A} p_k y_k / sum_{k in A} p_k, y_k being the latest update of client k.

    A holds the clients whose update entered in this step of the server or in one of the `limit`
    steps before. The update of a client that leaves A is forgotten: `Cohort.forgets`. The sum is
    MIFA's, and the divisor a factor of the server's learning rate, `Cohort.step`.

    Attributes:
        limit: tau_algo, steps of the server, at least 1.
    """

    method: ClassVar[str] = "aced"
    aggregation: ClassVar[str] = "mifa"
    saved_as: ClassVar[str] = "entries"

    limit: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        self._steps = np.zeros((), np.int64)
        # Step in which each client's update entered; 0 outside A.
        self._entered = np.zeros(len(self.p), np.int64)

    def renewed(self, p: np.ndarray, joined: np.ndarray, initial_rate: float) -> Aced:
        found = replace(self, p=renewed_shares(p, len(self.p)))
        found._steps, found._entered = self._steps, self._entered
        return found

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        """Counts a step of the server if any update enters."""
        cohort, forgets = super().weigh(now, ids, delivered), np.zeros(0, np.int64)
        if len(cohort):
            self._steps += 1
            self._entered[cohort.ids] = self._steps
            old = (self._entered > 0) & (self._steps - self._entered > self.limit)
            forgets = np.flatnonzero(old)
            self._entered[forgets] = 0
        total = float(self.p[self._entered > 0].sum())
        step = 1 / total if total else 1.0
        return Cohort(cohort.ids, cohort.weights, step=step, forgets=forgets)

    def saved_arrays(self) -> dict[str, np.ndarray]:
        """Returns the server's steps, and the step of each client's latest update."""
        return {"steps": self._steps, "entered": self._entered}


@register(
    "algorithm",
    "aced",
    "ACED",
    about="mean of the latest updates of all clients but those away for more than tau_algo steps",
    order=37,
)
@dataclass(frozen=True)
class AcedConfig(AllAvailableConfig):
    """Configuration of `Aced` with MIFA's memory."""

    aggregation: ClassVar[str] = "mifa"
    deliveries: ClassVar[tuple[str, ...]] = ("asynchronous", "late")

    aced_tau: int = parameter(
        100,
        "tau_algo, steps of the server after which the update of an absent client is forgotten",
        minimum=1,
        units="steps",
    )

    def build(self, world: StrategyContext) -> Strategy:
        return Aced(world.p, world.seed, self.aced_tau)
