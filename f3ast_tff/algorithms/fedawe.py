"""FedAWE (Xiang et al., NeurIPS 2024)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from f3ast_tff.algorithms.algorithm import AlgorithmConfig, World
from f3ast_tff.algorithms.shared import MEAN_OF_AVAILABLE
from f3ast_tff.components import register
from f3ast_tff.selection import AllAvailable, Strategy


@register(
    "algorithm",
    "fedawe",
    "FedAWE",
    about="all available clients (or K of them) go on from their own models and echo their updates",
    order=24,
)
@dataclass(frozen=True)
class FedAweConfig(AlgorithmConfig):
    """Configuration of `AllAvailable` with FedAWE's memory: a mean with weights p_k."""

    aggregation: ClassVar[str] = "fedawe"
    client_share: ClassVar[str] = "equal"
    corrects: ClassVar[Mapping[str, str]] = MEAN_OF_AVAILABLE

    def build(self, world: World) -> Strategy:
        """See `AlgorithmConfig.build`."""
        return AllAvailable(world.p, world.seed)
