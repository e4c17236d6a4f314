"""FedAvg whose server does not wait: an update that arrives too late is dropped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.methods.fedavg import BaselineConfig
from f3ast_tff.methods.parts.algorithm import StrategyContext
from f3ast_tff.methods.parts.late import Admitted
from f3ast_tff.methods.parts.method import method
from f3ast_tff.methods.parts.selecting_method import SelectingMethod
from f3ast_tff.methods.parts.strategy import Cohort, Round, facts_of
from f3ast_tff.settings import parameter


@method(
    "fedavg_in_time",
    "FedAvg in time",
    about="FedAvg; an update that arrives after its round is dropped",
    order=32,
)
@dataclass(frozen=True)
class InTime(SelectingMethod, BaselineConfig):
    """FedAvg whose server drops updates that are more than `in_time_rounds` rounds late."""

    deliveries: ClassVar[tuple[str, ...]] = ("late",)
    corrects: ClassVar[Mapping[str, str]] = MappingProxyType({"algorithm": "fedavg"})

    in_time_rounds: int = parameter(
        0, "largest number of rounds after which an update still enters", minimum=0
    )

    def first_state(self, world: StrategyContext) -> dict[str, Any]:
        """Returns FedAvg's sampling, a part without a state."""
        return {"fedavg": BaselineConfig.build(self, world)}

    @property
    def may_select(self) -> frozenset[str]:
        return frozenset(facts_of(self.kept["fedavg"]).may_select)

    def select(self, now: Round) -> np.ndarray:
        ids: np.ndarray = self.kept["fedavg"].select(now)
        return ids

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        cohort: Cohort = self.kept["fedavg"].weigh(now, ids, delivered)
        return cohort

    def admit(self, now: Round, asked_in: np.ndarray) -> Admitted:
        """Returns the server's choice among arrived updates; see `admitted_by`."""
        enters = now.number - asked_in <= self.in_time_rounds
        return Admitted(enters, ~enters)
