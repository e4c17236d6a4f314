"""FedAvg (McMahan et al. 2017) and FedAdam (Reddi et al. 2021) as the paper's baselines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.algorithms.algorithm import AlgorithmConfig, World, has_byte_budget, require
from f3ast_tff.components import Reading, parameter, register
from f3ast_tff.selection import Proportional, Strategy


@dataclass(frozen=True)
class BaselineConfig(AlgorithmConfig):
    """What FedAvg leaves open (reading R3)."""

    aggregation: ClassVar[str] = "mean"

    baseline_sampling: str = parameter(
        Reading("R3", "without_replacement", "with_replacement"),
        "FedAvg, FedAdam sample by p_k",
        choices=("without_replacement", "with_replacement"),
    )
    baseline_average: str = parameter(
        Reading("R3", "plain", "examples"),
        "FedAvg, FedAdam average by",
        choices=("plain", "examples"),
    )

    def build(self, world: World) -> Strategy:
        """See `AlgorithmConfig.build`."""
        by_size = self.baseline_average == "examples"
        weights = world.sizes.astype(np.float64) if by_size else np.ones(world.num_clients)
        replace = self.baseline_sampling == "with_replacement"
        return Proportional(world.p, weights, replace, world.seed)

    def check(self, settings: Mapping[str, Any]) -> None:
        """See `AlgorithmConfig.check`."""
        if has_byte_budget(settings):
            when = "under a budget in bytes"
            require(settings, "baseline_sampling", "without_replacement", when)


@register(
    "algorithm",
    "fedavg",
    "FedAvg",
    about="samples available clients by p_k and averages their updates",
    order=1,
)
@dataclass(frozen=True)
class FedAvgConfig(BaselineConfig):
    """Configuration of FedAvg: `Proportional` and the mean."""


@register(
    "algorithm", "fedadam", "FedAdam", about="FedAvg with Adam as the server optimizer", order=2
)
@dataclass(frozen=True)
class FedAdamConfig(BaselineConfig):
    """Configuration of FedAdam."""

    server_optimizer: ClassVar[str] = "adam"
