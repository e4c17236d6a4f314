"""FedAvg over all clients, a control of FedAU's paper (Wang and Ji 2024)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from f3ast_tff.algorithms.algorithm import AlgorithmConfig, World
from f3ast_tff.components import register
from f3ast_tff.selection import AllAvailable, Strategy


@register(
    "algorithm",
    "fedavg_all",
    "FedAvg over all",
    about="takes all available clients (or K of them), weighs by p; absent ones count as 0",
    order=16,
)
@dataclass(frozen=True)
class FedAvgAllConfig(AlgorithmConfig):
    """Configuration of `AllAvailable`."""

    client_share: ClassVar[str] = "equal"
    corrects: ClassVar[Mapping[str, str]] = MappingProxyType({})

    def build(self, world: World) -> Strategy:
        """See `AlgorithmConfig.build`."""
        return AllAvailable(world.p, world.seed)
