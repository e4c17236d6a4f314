"""Amplified SCAFFOLD (Crawshaw and Liu, NeurIPS 2024)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from f3ast_tff.algorithms.algorithm import AlgorithmConfig, World
from f3ast_tff.components import register
from f3ast_tff.selection import AllAvailable, Strategy


@register(
    "algorithm",
    "amplified_scaffold",
    "Amplified SCAFFOLD",
    about="as Amplified FedAvg, with controls as in SCAFFOLD that last a period",
    order=27,
)
@dataclass(frozen=True)
class AmplifiedScaffoldConfig(AlgorithmConfig):
    """Configuration of `AllAvailable` with controls over periods: a mean with weights p_k."""

    aggregation: ClassVar[str] = "amplified_scaffold"
    client_share: ClassVar[str] = "equal"
    corrects: ClassVar[Mapping[str, str]] = MappingProxyType({"algorithm": "scaffold"})

    def build(self, world: World) -> Strategy:
        """See `AlgorithmConfig.build`."""
        return AllAvailable(world.p, world.seed)
