"""ACED (arXiv 2511.19066): the mean of latest updates, without clients that are away for long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.methods.parts.algorithm import MEAN_OF_AVAILABLE, StrategyContext
from f3ast_tff.methods.parts.all_available import TakesAvailable
from f3ast_tff.methods.parts.method import method
from f3ast_tff.methods.parts.selecting_method import RenewedMethod
from f3ast_tff.methods.parts.strategy import Cohort, Round
from f3ast_tff.settings import parameter


@method(
    "aced",
    "ACED",
    about="mean of the latest updates of all clients but those away for more than tau_algo steps",
    order=37,
    client_share="equal",
    corrects=MEAN_OF_AVAILABLE,
)
@dataclass(frozen=True)
class Aced(RenewedMethod, TakesAvailable):
    """Delta = sum_{k in A} p_k y_k / sum_{k in A} p_k, y_k being the latest update of client k.

    A holds the clients whose update entered in this step of the server or in one of the tau_algo
    steps before. The update of a client that leaves A is forgotten: `Cohort.forgets`. The sum is
    MIFA's, and the divisor a factor of the server's learning rate, `Cohort.step`.
    """

    aggregation: ClassVar[str] = "mifa"
    deliveries: ClassVar[tuple[str, ...]] = ("asynchronous", "late")
    saved_as: ClassVar[str] = "entries"

    aced_tau: int = parameter(
        100,
        "tau_algo, steps of the server after which the update of an absent client is forgotten",
        minimum=1,
        units="steps",
    )

    def first_state(self, world: StrategyContext) -> dict[str, Any]:
        """Returns the server's steps, and the step of each client's latest update, 0 outside A."""
        return {"steps": np.zeros((), np.int64), "entered": np.zeros(world.num_clients, np.int64)}

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        """Counts a step of the server if any update enters."""
        cohort, forgets = super().weigh(now, ids, delivered), np.zeros(0, np.int64)
        steps, entered = self.kept["steps"], self.kept["entered"]
        if len(cohort):
            steps += 1
            entered[cohort.ids] = steps
            forgets = np.flatnonzero((entered > 0) & (steps - entered > self.aced_tau))
            entered[forgets] = 0
        total = float(self.p[entered > 0].sum())
        step = 1 / total if total else 1.0
        return Cohort(cohort.ids, cohort.weights, step=step, forgets=forgets)
