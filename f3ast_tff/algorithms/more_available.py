"""More available, a benchmark of CA-Fed (Rodio et al. 2024, Sec. V-A c)."""

from __future__ import annotations

from dataclasses import dataclass

from f3ast_tff.algorithms.algorithm import World
from f3ast_tff.algorithms.shared import KnowledgeConfig
from f3ast_tff.components import parameter, register
from f3ast_tff.selection import MoreAvailable, Strategy


@register(
    "algorithm",
    "more_available",
    "More available",
    about="as Unbiased, of clients with pi_k above a bound alone",
    order=9,
)
@dataclass(frozen=True)
class MoreAvailableConfig(KnowledgeConfig):
    """Configuration of `MoreAvailable`."""

    more_available_pi: float = parameter(0.5, "least pi_k that counts", above=0, maximum=1)

    def build(self, world: World) -> Strategy:
        """See `AlgorithmConfig.build`."""
        known = self.knowledge(world)
        return MoreAvailable(world.p, known, world.seed, least_pi=self.more_available_pi)
