"""FedStale (Rodio and Neglia 2024)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from f3ast_tff.algorithms.algorithm import World
from f3ast_tff.algorithms.shared import KnowledgeConfig
from f3ast_tff.components import register
from f3ast_tff.selection import Strategy, Unbiased


@register(
    "algorithm",
    "fedstale",
    "FedStale",
    about="takes all available clients (or K of them), weighs by p / pi; old updates count in part",
    order=21,
)
@dataclass(frozen=True)
class FedStaleConfig(KnowledgeConfig):
    """Configuration of `Unbiased` with FedStale's memory: weights p_k / pi_k, for a sum."""

    aggregation: ClassVar[str] = "fedstale"
    client_share: ClassVar[str] = "equal"
    corrects: ClassVar[Mapping[str, str]] = MappingProxyType({"algorithm": "unbiased"})

    def build(self, world: World) -> Strategy:
        """See `AlgorithmConfig.build`."""
        return Unbiased(world.p, self.knowledge(world), world.seed)
