"""FedAvg whose server does not wait: an update that arrives too late is dropped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from f3ast_tff.methods.fedavg import BaselineConfig
from f3ast_tff.methods.parts.algorithm import StrategyContext
from f3ast_tff.methods.parts.late import Admitted
from f3ast_tff.methods.parts.strategy import BaseStrategy, Cohort, Round, Strategy
from f3ast_tff.methods.parts.strategy_facts import facts_of
from f3ast_tff.settings import parameter, register


@dataclass
class InTime(BaseStrategy):
    """FedAvg whose server drops updates that are more than `most_rounds` rounds late.

    Attributes:
        strategy: FedAvg; has no state.
        most_rounds: Largest tau of an update that enters, at least 0.
    """

    method: ClassVar[str] = "fedavg_in_time"
    aggregation: ClassVar[str] = "mean"

    strategy: Strategy
    most_rounds: int

    @property
    def may_select(self) -> frozenset[str]:
        return frozenset(facts_of(self.strategy).may_select)

    def select(self, now: Round) -> np.ndarray:
        return self.strategy.select(now)

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        return self.strategy.weigh(now, ids, delivered)

    def admit(self, now: Round, asked_in: np.ndarray) -> Admitted:
        """Returns the server's choice among arrived updates; see `admitted_by`."""
        enters = now.number - asked_in <= self.most_rounds
        return Admitted(enters, ~enters)


@register(
    "algorithm",
    "fedavg_in_time",
    "FedAvg in time",
    about="FedAvg; an update that arrives after its round is dropped",
    order=32,
)
@dataclass(frozen=True)
class InTimeConfig(BaselineConfig):
    """Configuration of FedAvg under `InTime`."""

    deliveries: ClassVar[tuple[str, ...]] = ("late",)
    corrects: ClassVar[Mapping[str, str]] = MappingProxyType({"algorithm": "fedavg"})

    in_time_rounds: int = parameter(
        0, "largest number of rounds after which an update still enters", minimum=0
    )

    def build(self, world: StrategyContext) -> Strategy:
        return InTime(super().build(world), self.in_time_rounds)
