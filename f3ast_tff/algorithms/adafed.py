"""AdaFed (Tan et al. 2022) as CA-Fed's authors ran it."""

from __future__ import annotations

from dataclasses import dataclass

from f3ast_tff.algorithms.algorithm import World
from f3ast_tff.algorithms.shared import KnowledgeConfig
from f3ast_tff.components import register
from f3ast_tff.selection import AdaFed, Strategy


@register(
    "algorithm",
    "adafed",
    "AdaFed",
    about="as Unbiased, the weights of a round scaled to sum to 1",
    order=10,
)
@dataclass(frozen=True)
class AdaFedConfig(KnowledgeConfig):
    """Configuration of `AdaFed`."""

    def build(self, world: World) -> Strategy:
        """See `AlgorithmConfig.build`."""
        return AdaFed(world.p, self.knowledge(world), world.seed)
