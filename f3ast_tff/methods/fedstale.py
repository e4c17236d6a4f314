"""FedStale (Rodio and Neglia 2024): remembered updates count by a factor beta."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from f3ast_tff.methods.parts.aggregation import OVER_RATE, SumOrMean
from f3ast_tff.methods.parts.algorithm import KnowledgeConfig, StrategyContext
from f3ast_tff.methods.parts.memory import UpdateMemory
from f3ast_tff.methods.parts.strategy import Strategy
from f3ast_tff.methods.unbiased import Unbiased
from f3ast_tff.settings import parameter, register


@register(
    "aggregation",
    "fedstale",
    "FedStale",
    about="FedVARP with remembered updates counting by a factor beta; beta = 0 remembers nothing",
    order=6,
)
@dataclass(frozen=True)
class FedStale(SumOrMean):
    """Delta of `UpdateMemory`; in an empty round the model stays."""

    weights: ClassVar[str] = OVER_RATE

    fedstale_beta: float = parameter(
        0.5, "factor of remembered updates, as in the released scripts", minimum=0, maximum=1
    )

    @property
    def memory(self) -> UpdateMemory:
        return UpdateMemory(self.fedstale_beta, moves_alone=False)


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

    def build(self, world: StrategyContext) -> Strategy:
        return Unbiased(world.p, self.knowledge(world), world.seed)
