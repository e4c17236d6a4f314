"""MimiC (Sun et al. 2024)."""

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
    "mimic",
    "MimiC",
    about="mean over all available clients (or K of them), each moved to the whole step",
    order=22,
)
@dataclass(frozen=True)
class MimicConfig(AlgorithmConfig):
    """Configuration of `AllAvailable` with MimiC's memory: a mean with weights p_k."""

    aggregation: ClassVar[str] = "mimic"
    client_share: ClassVar[str] = "equal"
    corrects: ClassVar[Mapping[str, str]] = MEAN_OF_AVAILABLE

    def build(self, world: World) -> Strategy:
        """See `AlgorithmConfig.build`."""
        return AllAvailable(world.p, world.seed)
