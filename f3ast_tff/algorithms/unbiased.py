"""Unbiased, a benchmark of CA-Fed (Rodio et al. 2024, Sec. V-A c)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from f3ast_tff.algorithms.algorithm import World
from f3ast_tff.algorithms.shared import MEAN_OF_AVAILABLE, KnowledgeConfig
from f3ast_tff.components import register
from f3ast_tff.selection import Strategy, Unbiased


@register(
    "algorithm",
    "unbiased",
    "Unbiased",
    about="takes all available clients (or K of them), weighs by p / pi",
    order=8,
)
@dataclass(frozen=True)
class UnbiasedConfig(KnowledgeConfig):
    """Configuration of `Unbiased`."""

    corrects: ClassVar[Mapping[str, str]] = MEAN_OF_AVAILABLE

    def build(self, world: World) -> Strategy:
        """See `AlgorithmConfig.build`."""
        return Unbiased(world.p, self.knowledge(world), world.seed)
