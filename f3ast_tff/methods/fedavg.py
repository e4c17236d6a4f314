"""FedAvg (McMahan et al. 2017), FedAdam (Reddi et al. 2021) and baselines made of FedAvg."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.core.choosing import draw_by_weight
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.local_training import check_client_shares, renewed_shares
from f3ast_tff.methods.parts.algorithm import (
    AlgorithmConfig,
    StrategyContext,
    has_byte_budget,
    require,
    require_a_number,
)
from f3ast_tff.methods.parts.all_available import AllAvailableConfig
from f3ast_tff.methods.parts.strategy import BaseStrategy, Cohort, Round, Strategy
from f3ast_tff.settings import Derived, Reading, parameter, register
from f3ast_tff.settings.configuration import Settings


@dataclass(frozen=True)
class Proportional(BaseStrategy):
    """Samples available clients with probability proportional to p_k (Sec. IV, baselines).

    The weights are meant for a weighted mean.

    Attributes:
        p: Client shares p_k, `float64 [N]`.
        average_weights: Weight of each client in the mean, `float64 [N]`: ones for a plain
            average, numbers of examples for an average by data size.
        replace: Whether sampling is with replacement.
        seed: Seed of the draws.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import Proportional, Round, RoundConstraint
        >>> strategy = Proportional(np.array([0.7, 0.2, 0.1]), average_weights=np.ones(3))
        >>> rounds = (Round(t, np.ones(3, bool), RoundConstraint(1)) for t in range(1, 1001))
        >>> np.bincount([strategy.select(now)[0] for now in rounds]).tolist()
        [697, 200, 103]
    """

    method: ClassVar[str] = "fedavg"
    aggregation: ClassVar[str] = "mean"

    p: np.ndarray
    average_weights: np.ndarray
    replace: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        check_client_shares(self.p)

    def renewed(self, p: np.ndarray, joined: np.ndarray, initial_rate: float) -> Proportional:
        return replace(self, p=renewed_shares(p, len(self.p)))

    @property
    def may_select(self) -> frozenset[str]:
        return frozenset({"repeated"} if self.replace else ())

    def select(self, now: Round) -> np.ndarray:
        """The constraint admits the draws in order.

        Raises:
            ValueError: If sampling is with replacement and the constraint is more than a number.
        """
        rng = now.generator(self.seed)
        candidates = np.flatnonzero(now.available)
        if now.constraint.counts_only:
            return draw_by_weight(candidates, self.p, now.constraint.k, rng, replace=self.replace)
        if self.replace:
            raise ValueError("sampling with replacement knows no constraint but the number")
        return now.constraint.admit(draw_by_weight(candidates, self.p, len(candidates), rng))

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        return Cohort(ids[delivered], self.average_weights[ids[delivered]])


@dataclass(frozen=True)
class Uniform(BaseStrategy):
    """Samples available clients uniformly without replacement.

    Attributes:
        average_weights: Weight of each client in the mean, `float64 [N]`: ones for a plain
            average, numbers of examples for an average by data size.
        seed: Seed of the draws.
        candidates: Clients with data, `bool [N]`; `None` if all have some.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import Round, RoundConstraint, Uniform
        >>> strategy = Uniform(average_weights=np.ones(3))
        >>> rounds = (Round(t, np.ones(3, bool), RoundConstraint(1)) for t in range(1, 1001))
        >>> np.bincount([strategy.select(now)[0] for now in rounds]).tolist()
        [329, 358, 313]
    """

    method: ClassVar[str] = "uniform"
    aggregation: ClassVar[str] = "mean"

    average_weights: np.ndarray
    seed: int = 0
    candidates: np.ndarray | None = None

    def renewed(self, p: np.ndarray, joined: np.ndarray, initial_rate: float) -> Uniform:
        """Uniform sampling takes all shares above 0 alike."""
        return replace(self, candidates=renewed_shares(p, len(self.average_weights)) > 0)

    def select(self, now: Round) -> np.ndarray:
        rng = now.generator(self.seed)
        there = now.available if self.candidates is None else now.available & self.candidates
        candidates = np.flatnonzero(there)
        if now.constraint.counts_only:
            return rng.choice(candidates, min(now.constraint.k, len(candidates)), replace=False)
        return now.constraint.admit(rng.permutation(candidates))

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        return Cohort(ids[delivered], self.average_weights[ids[delivered]])


def _with_replacement(known: Any) -> str:
    return "without_replacement" if has_byte_budget(known.get("constraint")) else "with_replacement"


@dataclass(frozen=True)
class BaselineConfig(AlgorithmConfig):
    """Settings that FedAvg leaves open (reading R3).

    Sampling by p_k with replacement and a plain average are scheme I of Li et al. (2020). Uniform
    sampling and an average by n_k are McMahan et al.'s. The textbook preset samples without
    replacement (docs/readings.md).
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

    def build(self, world: StrategyContext) -> Strategy:
        by_size = self.baseline_average == "examples"
        weights = world.sizes.astype(np.float64) if by_size else np.ones(world.num_clients)
        if self.baseline_sampling == "uniform":
            return Uniform(weights, world.seed, world.p > 0)
        replace = self.baseline_sampling == "with_replacement"
        if replace:
            name = "baseline_sampling"
            require_a_number(world, name, self.baseline_sampling, "without_replacement")
        return Proportional(world.p, weights, replace, world.seed)

    def check(self, settings: Settings) -> None:
        if has_byte_budget(settings.constraint):
            only, when = "without_replacement", "under a budget in bytes"
            require("baseline_sampling", self.baseline_sampling, only, when)


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

    def build(self, world: StrategyContext) -> Strategy:
        return Uniform(np.ones(world.num_clients), world.seed, world.p > 0)


@register(
    "algorithm",
    "fedavg_all",
    "FedAvg over all",
    about="takes all available clients (or K of them), weighs by p; absent clients count as 0",
    order=16,
)
@dataclass(frozen=True)
class FedAvgAllConfig(AllAvailableConfig):
    """Configuration of `AllAvailable`."""

    corrects: ClassVar[Mapping[str, str]] = MappingProxyType({})


@register(
    "algorithm",
    "sequential_sgd",
    "Sequential SGD",
    about="one client holds all data and is always available: no federated learning",
    order=15,
)
@dataclass(frozen=True)
class SequentialSGDConfig(UniformConfig):
    """Configuration of the centralised baseline."""

    fixed: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {"availability": "always", "clients_per_round": 1}
    )
    pooled: ClassVar[bool] = True

    def check(self, settings: Settings) -> None:
        if settings.constraint is not None:
            allowed = "must not be given with sequential_sgd, which has one client"
            raise ParameterError("constraint", settings.constraint, allowed)
