"""FedLaAvg (Yan et al. 2020, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from f3ast_tff.algorithms.algorithm import World
from f3ast_tff.algorithms.shared import MEAN_OF_AVAILABLE, TiesConfig
from f3ast_tff.components import register
from f3ast_tff.selection import LongestAbsent, Strategy


@register(
    "algorithm",
    "fedlaavg",
    "FedLaAvg",
    about="takes the clients absent longest; the server remembers everybody's latest update",
    order=13,
)
@dataclass(frozen=True)
class FedLaAvgConfig(TiesConfig):
    """Configuration of `LongestAbsent`."""

    aggregation: ClassVar[str] = "fedlaavg"
    client_share: ClassVar[str] = "equal"
    corrects: ClassVar[Mapping[str, str]] = MEAN_OF_AVAILABLE

    def build(self, world: World) -> Strategy:
        """See `AlgorithmConfig.build`."""
        return LongestAbsent(world.p, self.ties == "random", world.seed)
