"""FedAvg (McMahan et al. 2017), FedAdam (Reddi et al. 2021) and baselines made of FedAvg."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.core.choosing import draw_by_weight
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.lazy_names import renamed
from f3ast_tff.methods.parts.algorithm import has_byte_budget, require
from f3ast_tff.methods.parts.all_available import AllAvailable
from f3ast_tff.methods.parts.method import method
from f3ast_tff.methods.parts.selecting_method import (
    RenewedMethod,
    SelectingMethod,
    takes_old_arguments,
)
from f3ast_tff.methods.parts.strategy import Cohort, Round, StrategyContext
from f3ast_tff.settings import Derived, Reading, parameter
from f3ast_tff.settings.configuration import Settings

_NOTHING: Mapping[str, str] = MappingProxyType({})


def drawn_uniformly(now: Round, candidates: np.ndarray, seed: int) -> np.ndarray:
    """Returns available clients among the candidates, drawn uniformly without replacement.

    Args:
        now: The round.
        candidates: Clients that may take part, `bool [N]`.
        seed: Seed of the draws.
    """
    rng = now.generator(seed)
    there = np.flatnonzero(now.available & candidates)
    if now.constraint.counts_only:
        return rng.choice(there, min(now.constraint.k, len(there)), replace=False)
    return now.constraint.admit(rng.permutation(there))


def require_a_number(world: StrategyContext, name: str, value: Any, allowed: str) -> None:
    """Checks that the constraint is a number of clients, as a setting requires.

    Raises:
        ParameterError: If the constraint is another one; `allowed` is the value to give instead.
    """
    if not world.constraint.limit(1).counts_only:
        when = "under a constraint that is more than the number of clients"
        raise ParameterError(name, value, f"must be {allowed} {when}")


def _with_replacement(known: Any) -> str:
    return "without_replacement" if has_byte_budget(known.get("constraint")) else "with_replacement"


@dataclass(frozen=True)
class SampledMean(SelectingMethod):
    """Base of methods that sample available clients as FedAvg does, and average their updates.

    Sampling by p_k with replacement and a plain average are scheme I of Li et al. (2020). Uniform
    sampling and an average by n_k are McMahan et al.'s. The textbook preset samples without
    replacement (docs/readings.md). The weights are meant for a weighted mean.
    """

    aggregation: ClassVar[str] = "mean"
    corrects: ClassVar[Mapping[str, str]] = _NOTHING
    step_scale: ClassVar[float | None] = 1

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

    def first_state(self, world: StrategyContext) -> dict[str, Any]:
        """Returns no state; checks that the constraint can be kept."""
        if self._replaces:
            name = "baseline_sampling"
            require_a_number(world, name, self.baseline_sampling, "without_replacement")
        return {}

    @property
    def _replaces(self) -> bool:
        return self.baseline_sampling == "with_replacement"

    @property
    def may_select(self) -> frozenset[str]:
        return frozenset({"repeated"} if self._replaces else ())

    def select(self, now: Round) -> np.ndarray:
        """The constraint admits the draws in order.

        Raises:
            ValueError: If sampling is with replacement and the constraint is more than a number.
        """
        if self.baseline_sampling == "uniform":
            return drawn_uniformly(now, self.p > 0, self.seed)
        rng = now.generator(self.seed)
        candidates = np.flatnonzero(now.available)
        if now.constraint.counts_only:
            return draw_by_weight(candidates, self.p, now.constraint.k, rng, replace=self._replaces)
        if self._replaces:
            raise ValueError("sampling with replacement knows no constraint but the number")
        return now.constraint.admit(draw_by_weight(candidates, self.p, len(candidates), rng))

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        """Weighs by numbers of examples, or alike."""
        if self.baseline_average == "examples":
            return Cohort(ids[delivered], self.world.sizes[ids[delivered]].astype(np.float64))
        return super().weigh(now, ids, delivered)

    def check(self, settings: Settings) -> None:
        if has_byte_budget(settings.constraint):
            only, when = "without_replacement", "under a budget in bytes"
            require("baseline_sampling", self.baseline_sampling, only, when)


@takes_old_arguments
@method(
    "fedavg", "FedAvg", about="samples available clients by p_k and averages their updates", order=1
)
@dataclass(frozen=True)
class FedAvg(RenewedMethod, SampledMean):
    """Samples available clients with probability proportional to p_k (Sec. IV, baselines).

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import FedAvg, Round, RoundConstraint
        >>> strategy = FedAvg.start([0.7, 0.2, 0.1], k=1, baseline_sampling="without_replacement")
        >>> rounds = (Round(t, np.ones(3, bool), RoundConstraint(1)) for t in range(1, 1001))
        >>> np.bincount([strategy.select(now)[0] for now in rounds]).tolist()
        [697, 200, 103]
    """


@method("fedadam", "FedAdam", about="FedAvg with Adam as the server optimizer", order=2)
@dataclass(frozen=True)
class FedAdam(FedAvg):
    """FedAvg with Adam on the server."""

    server_optimizer: ClassVar[str] = "adam"


@takes_old_arguments
@method(
    "uniform",
    "Uniform",
    about="samples available clients uniformly and averages their updates",
    order=6,
    client_share="equal",
    corrects=_NOTHING,
    step_scale=1,
)
@dataclass(frozen=True)
class Uniform(RenewedMethod):
    """Samples available clients uniformly without replacement; the mean is plain.

    A client of share 0 takes no part.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import Round, RoundConstraint, Uniform
        >>> strategy = Uniform.start(np.full(3, 1 / 3), k=1)
        >>> rounds = (Round(t, np.ones(3, bool), RoundConstraint(1)) for t in range(1, 1001))
        >>> np.bincount([strategy.select(now)[0] for now in rounds]).tolist()
        [329, 358, 313]
    """

    aggregation: ClassVar[str] = "mean"

    def select(self, now: Round) -> np.ndarray:
        return drawn_uniformly(now, self.p > 0, self.seed)


@method(
    "fedavg_all",
    "FedAvg over all",
    about="takes all available clients (or K of them), weighs by p; absent clients count as 0",
    order=16,
    corrects=_NOTHING,
)
@dataclass(frozen=True)
class FedAvgAll(AllAvailable):
    """`AllAvailable` as a method of its own."""


@method(
    "sequential_sgd",
    "Sequential SGD",
    about="one client holds all data and is always available: no federated learning",
    order=15,
)
@dataclass(frozen=True)
class SequentialSGD(Uniform):
    """The centralised baseline."""

    fixed: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {"availability": "always", "clients_per_round": 1}
    )
    pooled: ClassVar[bool] = True

    def check(self, settings: Settings) -> None:
        if settings.constraint is not None:
            allowed = "must not be given with sequential_sgd, which has one client"
            raise ParameterError("constraint", settings.constraint, allowed)


__getattr__ = renamed(
    __name__,
    Proportional=FedAvg,
    FedAvgConfig=FedAvg,
    FedAdamConfig=FedAdam,
    BaselineConfig=SampledMean,
    UniformConfig=Uniform,
    FedAvgAllConfig=FedAvgAll,
    SequentialSGDConfig=SequentialSGD,
)
