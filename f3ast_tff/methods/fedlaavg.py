"""FedLaAvg (Yan et al. 2020): longest absent clients first; the average of all latest updates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.core.choosing import admit_by_priority
from f3ast_tff.core.lazy_names import renamed
from f3ast_tff.methods.fedavg import SampledMean
from f3ast_tff.methods.parts.aggregation import SHARE
from f3ast_tff.methods.parts.algorithm import MEAN_OF_AVAILABLE, TiesConfig, require
from f3ast_tff.methods.parts.method import MethodRules, method
from f3ast_tff.methods.parts.selecting_method import SelectingMethod, takes_old_arguments
from f3ast_tff.methods.parts.strategy import Cohort, Round, StrategyContext
from f3ast_tff.methods.parts.update_memory import UpdateMemory
from f3ast_tff.settings import Derived, parameter
from f3ast_tff.settings.configuration import Settings


@takes_old_arguments
@method(
    "fedlaavg",
    "FedLaAvg",
    about="average of all clients' latest updates",
    order=13,
    takes="takes the clients absent longest",
    corrects=MEAN_OF_AVAILABLE,
    reaches_optimum=True,
    step_scale=1,
)
@dataclass(frozen=True)
# `method` tells the two `build`s apart.
class FedLaAvg(  # type: ignore[misc]
    SelectingMethod, TiesConfig, UpdateMemory, MethodRules
):
    """Takes the K clients absent longest; Delta of `UpdateMemory` is the average g_t.

    Clients that never took part come first. If all clients are available and K divides N, every
    client takes part once in N / K rounds. A client whose update is lost has not taken part. Any
    constraint admits clients in this order. The released code gives ties to the lowest id; the
    paper does not state a rule.

    The weights are p_k, for the SUM over the cohort of the differences between each client's update
    and its previous update (eqs. (4) to (6) with the objectives scaled by N p_k, Sec. 2). A
    client's "gradient" after multiple local steps (App. E) is its update over the learning rate.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.methods import Round, RoundConstraint, cohort_of
        >>> from f3ast_tff.methods.fedlaavg import FedLaAvg
        >>> strategy = FedLaAvg.start(np.full(4, 0.25), k=2, ties="lowest_id")
        >>> there = [np.array([True, True, True, t == 3]) for t in (1, 2, 3)]
        >>> rounds = [Round(t, mask, RoundConstraint(2)) for t, mask in enumerate(there, 1)]
        >>> [cohort_of(strategy, now).ids.tolist() for now in rounds]
        [[0, 1], [2, 0], [3, 1]]
    """

    weights: ClassVar[str] = SHARE
    takes: ClassVar[tuple[str, ...]] = (SHARE,)

    memory_from_round: int = parameter(
        Derived(lambda known: known.get("switch_round", 1), "1, or switch_round"),
        "first round in which the model follows the average; updates are noted from round 1",
        minimum=1,
    )

    def first_state(self, world: StrategyContext) -> dict[str, Any]:
        """Returns the round in which each client last took part, 0 for never, `int64 [N]`."""
        return {"last_participation": np.zeros(world.num_clients, np.int64)}

    def select(self, now: Round) -> np.ndarray:
        return admit_by_priority(
            lambda part: now.number - self.kept["last_participation"][part],
            now.available & (self.p > 0),
            now.constraint,
            now.generator(self.seed) if self.ties == "random" else None,
        )

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        """A client whose update is lost has not taken part."""
        cohort_ids = ids[delivered]
        self.kept["last_participation"][cohort_ids] = now.number
        return Cohort(cohort_ids, self.p[cohort_ids])

    @property
    def last_participation(self) -> np.ndarray:
        """Round in which each client last took part, 0 for never, `int64 [N]`; a new array."""
        last: np.ndarray = self.kept["last_participation"]
        return last.copy()

    @property
    def first_round(self) -> int:
        return self.memory_from_round


@takes_old_arguments
@method(
    "fedavg_then_fedlaavg",
    "FedAvg, then FedLaAvg",
    about="FedAvg in the first rounds, then FedLaAvg",
    order=14,
)
@dataclass(frozen=True)
class Switching(TiesConfig, SampledMean):
    """Selects as FedAvg until a round, and longest absent clients first from then on.

    Participation in the first phase counts in the order of the second. FedAvg's weights are divided
    by their sum, because the aggregation is a sum.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.methods import Round, RoundConstraint, cohort_of
        >>> from f3ast_tff.methods.fedlaavg import Switching
        >>> given = {"switch_round": 3, "ties": "lowest_id"}
        >>> strategy = Switching.start([0.98, 0.01, 0.01], k=1, **given)
        >>> rounds = [Round(t, np.ones(3, bool), RoundConstraint(1)) for t in (1, 2, 3, 4)]
        >>> [cohort_of(strategy, now).ids.tolist() for now in rounds]
        [[0], [0], [1], [2]]
    """

    aggregation: ClassVar[str] = "fedlaavg"

    switch_round: int = parameter(
        Derived(lambda known: known["rounds"] // 2 + 1, "half-way", from_rounds=True),
        "first round of FedLaAvg",
        minimum=1,
    )

    def first_state(self, world: StrategyContext) -> dict[str, Any]:
        """Returns the selection of the second phase."""
        return {**super().first_state(world), "": FedLaAvg(ties=self.ties).build(world)}

    @property
    def _then(self) -> FedLaAvg:
        then: FedLaAvg = self.kept[""]
        return then

    def select(self, now: Round) -> np.ndarray:
        return super().select(now) if now.number < self.switch_round else self._then.select(now)

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        """In the first phase the weights sum to 1."""
        absent = self._then.weigh(now, ids, delivered)
        if now.number >= self.switch_round:
            return absent
        cohort = super().weigh(now, ids, delivered)
        return Cohort(cohort.ids, cohort.weights / cohort.weights.sum())

    def check(self, settings: Settings) -> None:
        """Refuses another memory, which would step along it from the first round."""
        super().check(settings)
        when = "with algorithm fedavg_then_fedlaavg"
        require("aggregation", settings.aggregation, "fedlaavg", when)


__getattr__ = renamed(
    __name__, FedLaAvgConfig=FedLaAvg, LongestAbsent=FedLaAvg, FedAvgThenFedLaAvgConfig=Switching
)
