"""The rule that CA-Fed's authors ran under the name F3AST."""

from __future__ import annotations

from dataclasses import dataclass

from f3ast_tff.algorithms.algorithm import World
from f3ast_tff.algorithms.shared import KnowledgeConfig, RateBetaConfig
from f3ast_tff.components import register
from f3ast_tff.selection import F3ASTOfCAFed, Strategy


@register(
    "algorithm",
    "f3ast_of_ca_fed",
    "F3AST (CA-Fed's rule)",
    about="takes the K clients of largest p / pi, ties to the lowest id, weighs by p / r",
    order=12,
)
@dataclass(frozen=True)
class F3ASTOfCAFedConfig(KnowledgeConfig, RateBetaConfig):
    """Configuration of `F3ASTOfCAFed`."""

    def build(self, world: World) -> Strategy:
        """See `AlgorithmConfig.build`."""
        return F3ASTOfCAFed(world.p, self.knowledge(world), self.rate_beta)
