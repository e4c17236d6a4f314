"""FedAvg that turns into FedLaAvg, the trick of FedLaAvg's Sec. 5.2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from f3ast_tff.algorithms.algorithm import World
from f3ast_tff.algorithms.fedavg import BaselineConfig
from f3ast_tff.algorithms.shared import TiesConfig
from f3ast_tff.components import Derived, parameter, register
from f3ast_tff.selection import LongestAbsent, Strategy, Switching


@register(
    "algorithm",
    "fedavg_then_fedlaavg",
    "FedAvg, then FedLaAvg",
    about="FedAvg in the first rounds, FedLaAvg in the others",
    order=14,
)
@dataclass(frozen=True)
class FedAvgThenFedLaAvgConfig(TiesConfig, BaselineConfig):
    """Configuration of `Switching`."""

    aggregation: ClassVar[str] = "fedlaavg"
    client_share: ClassVar[str] = "equal"

    switch_round: int = parameter(
        Derived(lambda known: known["rounds"] // 2 + 1, "half-way", from_rounds=True),
        "first round of FedLaAvg",
        minimum=1,
    )

    def build(self, world: World) -> Strategy:
        """See `AlgorithmConfig.build`."""
        then = LongestAbsent(world.p, self.ties == "random", world.seed)
        return Switching(super().build(world), then, self.switch_round)
