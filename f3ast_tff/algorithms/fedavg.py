"""FedAvg (McMahan et al. 2017) and FedAdam (Reddi et al. 2021) as the paper's baselines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.algorithms.algorithm import (
    AlgorithmConfig,
    World,
    has_byte_budget,
    require,
    require_a_number,
)
from f3ast_tff.components import Derived, Reading, parameter, register
from f3ast_tff.selection import Proportional, Strategy, Uniform


def _with_replacement(known: Any) -> str:
    budget = (known.get("communication") or "").startswith("bytes:")
    return "without_replacement" if budget else "with_replacement"


@dataclass(frozen=True)
class BaselineConfig(AlgorithmConfig):
    """What FedAvg leaves open (reading R3).

    With replacement by p_k and averaged plainly is scheme I of Li et al. (2020); uniform and
    averaged by n_k is McMahan et al.'s. The textbook preset takes the form without replacement
    (docs/readings.md).
    """

    aggregation: ClassVar[str] = "mean"
    corrects: ClassVar[Mapping[str, str]] = MappingProxyType({})

    baseline_sampling: str = parameter(
        Reading(
            "R3",
            Derived(_with_replacement, "with_replacement, but without under a budget in bytes"),
            "with_replacement",
            textbook="without_replacement",
        ),
        "FedAvg, FedAdam sample by p_k, with or without replacement; or uniformly, without",
        choices=("with_replacement", "without_replacement", "uniform"),
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
        if self.baseline_sampling == "uniform":
            return Uniform(weights, world.seed)
        replace = self.baseline_sampling == "with_replacement"
        if replace:
            name = "baseline_sampling"
            require_a_number(world, name, self.baseline_sampling, "without_replacement")
        return Proportional(world.p, weights, replace, world.seed)

    def check(self, settings: Mapping[str, Any]) -> None:
        """See `AlgorithmConfig.check`."""
        if has_byte_budget(settings) and self.baseline_sampling == "with_replacement":
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
    """Configuration of FedAvg: `Proportional` or `Uniform`, and the mean."""


@register(
    "algorithm", "fedadam", "FedAdam", about="FedAvg with Adam as the server optimizer", order=2
)
@dataclass(frozen=True)
class FedAdamConfig(BaselineConfig):
    """Configuration of FedAdam."""

    server_optimizer: ClassVar[str] = "adam"
