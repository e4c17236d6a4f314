"""MIFA (Gu et al., NeurIPS 2021)."""

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
    "mifa",
    "MIFA",
    about="takes all available clients (or K of them); latest updates stand in for those absent",
    order=19,
)
@dataclass(frozen=True)
class MifaConfig(AlgorithmConfig):
    """Configuration of `AllAvailable` with MIFA's memory: weights p_k."""

    aggregation: ClassVar[str] = "mifa"
    client_share: ClassVar[str] = "equal"
    corrects: ClassVar[Mapping[str, str]] = MEAN_OF_AVAILABLE

    def build(self, world: World) -> Strategy:
        """See `AlgorithmConfig.build`."""
        return AllAvailable(world.p, world.seed)
