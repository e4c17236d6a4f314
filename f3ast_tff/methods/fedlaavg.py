"""FedLaAvg (Yan et al. 2020): longest absent clients first; the average of all latest updates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.core.choosing import admit_by_priority
from f3ast_tff.core.local_training import check_client_shares
from f3ast_tff.methods.fedavg import BaselineConfig
from f3ast_tff.methods.parts.aggregation import SHARE
from f3ast_tff.methods.parts.algorithm import (
    MEAN_OF_AVAILABLE,
    StrategyContext,
    TiesConfig,
    require,
)
from f3ast_tff.methods.parts.method import MethodRules
from f3ast_tff.methods.parts.strategy import BaseStrategy, Cohort, Round, Strategy, facts_of
from f3ast_tff.methods.parts.update_memory import UpdateMemory
from f3ast_tff.settings import Derived, parameter, register
from f3ast_tff.settings.configuration import Settings


@dataclass
class LongestAbsent(BaseStrategy):
    """Takes the K available clients whose last participation is the longest ago.

    Clients that never took part come first. If all clients are available and K divides N, every
    client takes part once in N / K rounds. A client whose update is lost has not taken part. Any
    constraint admits clients in this order. FedLaAvg's weights are p_k, for the SUM over the
    cohort of the differences between each client's update and its previous update (eq. (4) with
    the objectives scaled by N p_k, Sec. 2).

    Attributes:
        p: Client shares p_k, `float64 [N]`.
        random_ties: Whether clients absent equally long are ordered at random; otherwise the lowest
            id wins, as in the released code. The paper does not state a rule.
        seed: Seed of the tie-breaks.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.methods import Round, RoundConstraint, cohort_of
        >>> from f3ast_tff.methods.fedlaavg import LongestAbsent
        >>> strategy, two = LongestAbsent(np.full(4, 0.25), random_ties=False), RoundConstraint(2)
        >>> rounds = [Round(t, np.array([True, True, True, t == 3]), two) for t in (1, 2, 3)]
        >>> [cohort_of(strategy, now).ids.tolist() for now in rounds]
        [[0, 1], [2, 0], [3, 1]]
    """

    method: ClassVar[str] = "fedlaavg"
    aggregation: ClassVar[str] = "fedlaavg"

    p: np.ndarray
    random_ties: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        check_client_shares(self.p)
        # Round of the last participation, 0 for never.
        self._last = np.zeros(len(self.p), np.int64)

    def select(self, now: Round) -> np.ndarray:
        rng = now.generator(self.seed) if self.random_ties else None
        return admit_by_priority(
            lambda part: now.number - self._last[part],
            now.available & (self.p > 0),
            now.constraint,
            rng,
        )

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        """A client whose update is lost has not taken part."""
        cohort_ids = ids[delivered]
        self.took_part(cohort_ids, now.number)
        return Cohort(cohort_ids, self.p[cohort_ids])

    def took_part(self, ids: np.ndarray, round_number: int) -> None:
        """Records that these clients take part in a round."""
        self._last[ids] = round_number

    @property
    def last_participation(self) -> np.ndarray:
        """Round in which each client last took part, 0 for never, `int64 [N]`; a new array."""
        return self._last.copy()

    def saved_arrays(self) -> dict[str, np.ndarray]:
        """Returns the round of each client's last participation."""
        return {"last_participation": self._last}


@dataclass
class Switching(BaseStrategy):
    """Selects by one strategy until a round, and longest absent clients first from then on.

    Participation in the first phase counts in the order of the second.

    Attributes:
        first: Strategy of the first phase, made for a weighted mean and without state. Its weights
            are divided by their sum, because the aggregation is a sum.
        then: Strategy of the second phase.
        switch_round: First round of the second phase, at least 1.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.methods import Round, RoundConstraint, cohort_of
        >>> from f3ast_tff.methods.fedavg import Proportional
        >>> from f3ast_tff.methods.fedlaavg import LongestAbsent, Switching
        >>> first = Proportional(np.array([1.0, 0.0, 0.0]), np.ones(3))  # takes client 0
        >>> then = LongestAbsent(np.full(3, 1 / 3), random_ties=False)
        >>> strategy = Switching(first, then, switch_round=3)
        >>> rounds = [Round(t, np.ones(3, bool), RoundConstraint(1)) for t in (1, 2, 3, 4)]
        >>> [cohort_of(strategy, now).ids.tolist() for now in rounds]
        [[0], [0], [1], [2]]
    """

    method: ClassVar[str] = "fedavg_then_fedlaavg"
    aggregation: ClassVar[str] = "fedlaavg"

    first: Strategy
    then: LongestAbsent
    switch_round: int

    @property
    def may_select(self) -> frozenset[str]:
        """The rules of the first phase."""
        return frozenset(facts_of(self.first).may_select)

    def select(self, now: Round) -> np.ndarray:
        return self._phase(now).select(now)

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        """In the first phase the weights sum to 1."""
        cohort = self._phase(now).weigh(now, ids, delivered)
        if now.number >= self.switch_round:
            return cohort
        self.then.took_part(cohort.ids, now.number)
        return Cohort(cohort.ids, cohort.weights / cohort.weights.sum())

    def _phase(self, now: Round) -> Strategy:
        return self.then if now.number >= self.switch_round else self.first

    def saved_parts(self) -> dict[str, Any]:
        """Returns the second phase's strategy."""
        return {"": self.then}


@register(
    "aggregation", "fedlaavg", "FedLaAvg", about="average of all clients' latest updates", order=3
)
@dataclass(frozen=True)
class FedLaAvg(UpdateMemory, MethodRules):
    """Delta of `UpdateMemory`: with weights p_k the average g_t of eqs. (4) to (6).

    A client's "gradient" after multiple local steps (App. E) is its update over the learning rate.
    """

    weights: ClassVar[str] = SHARE
    takes: ClassVar[tuple[str, ...]] = (SHARE,)

    memory_from_round: int = parameter(
        Derived(lambda known: known.get("switch_round", 1), "1, or switch_round"),
        "first round in which the model follows the average; updates are noted from round 1",
        minimum=1,
    )

    @property
    def first_round(self) -> int:
        return self.memory_from_round


@register(
    "algorithm",
    "fedlaavg",
    "FedLaAvg",
    about="takes the clients absent longest; the server remembers each client's latest update",
    order=13,
)
@dataclass(frozen=True)
class FedLaAvgConfig(TiesConfig):
    """Configuration of `LongestAbsent`."""

    reaches_optimum: ClassVar[bool | None] = True

    aggregation: ClassVar[str] = "fedlaavg"
    corrects: ClassVar[Mapping[str, str]] = MEAN_OF_AVAILABLE

    def build(self, world: StrategyContext) -> Strategy:
        return LongestAbsent(world.p, self.ties == "random", world.seed)


@register(
    "algorithm",
    "fedavg_then_fedlaavg",
    "FedAvg, then FedLaAvg",
    about="FedAvg in the first rounds, then FedLaAvg",
    order=14,
)
@dataclass(frozen=True)
class FedAvgThenFedLaAvgConfig(TiesConfig, BaselineConfig):
    """Configuration of `Switching`."""

    aggregation: ClassVar[str] = "fedlaavg"

    switch_round: int = parameter(
        Derived(lambda known: known["rounds"] // 2 + 1, "half-way", from_rounds=True),
        "first round of FedLaAvg",
        minimum=1,
    )

    def build(self, world: StrategyContext) -> Strategy:
        then = LongestAbsent(world.p, self.ties == "random", world.seed)
        return Switching(super().build(world), then, self.switch_round)

    def check(self, settings: Settings) -> None:
        """Refuses another memory, which would step along it from the first round."""
        super().check(settings)
        when = "with algorithm fedavg_then_fedlaavg"
        require("aggregation", settings.aggregation, "fedlaavg", when)
