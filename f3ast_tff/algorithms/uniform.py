"""Uniform sampling of the available clients, averaged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from f3ast_tff.algorithms.algorithm import AlgorithmConfig, World
from f3ast_tff.components import register
from f3ast_tff.selection import Strategy, Uniform


@register(
    "algorithm",
    "uniform",
    "Uniform",
    about="samples available clients uniformly and averages their updates",
    order=6,
)
@dataclass(frozen=True)
class UniformConfig(AlgorithmConfig):
    """Configuration of `Uniform` with plain averages."""

    aggregation: ClassVar[str] = "mean"
    client_share: ClassVar[str] = "equal"
    corrects: ClassVar[Mapping[str, str]] = MappingProxyType({})

    def build(self, world: World) -> Strategy:
        """See `AlgorithmConfig.build`."""
        return Uniform(np.ones(world.num_clients), world.seed)
