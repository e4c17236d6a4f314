"""Amplified FedAvg (Wang and Ji, NeurIPS 2022)."""

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
    "amplified_fedavg",
    "Amplified FedAvg",
    about="mean over all available clients (or K of them); each period's movement is amplified",
    order=26,
)
@dataclass(frozen=True)
class AmplifiedFedAvgConfig(AlgorithmConfig):
    """Configuration of `AllAvailable` with amplified periods: a mean with weights p_k."""

    aggregation: ClassVar[str] = "amplified_fedavg"
    client_share: ClassVar[str] = "equal"
    corrects: ClassVar[Mapping[str, str]] = MEAN_OF_AVAILABLE

    def build(self, world: World) -> Strategy:
        """See `AlgorithmConfig.build`."""
        return AllAvailable(world.p, world.seed)
