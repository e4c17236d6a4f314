"""Parameters and baselines that several algorithms have."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from f3ast_tff.algorithms.algorithm import AlgorithmConfig, World
from f3ast_tff.availability.process import IndependentAvailability
from f3ast_tff.components import Derived, Reading, parameter
from f3ast_tff.errors import ParameterError
from f3ast_tff.estimation import (
    AvailabilityKnowledge,
    AvailabilityPrior,
    EstimatedAvailability,
    KnownAvailability,
)

# FedAvg over the active clients, whose bias most methods correct.
MEAN_OF_AVAILABLE = MappingProxyType({"algorithm": "fedavg_all", "aggregation": "mean"})


def _objective(known: Any) -> str:
    """The case of eq. (3): combined clients are available together if those of a part are."""
    together = any(c.positively_correlated for c in known.config_classes("availability"))
    return "p" if together else "p_squared"


@dataclass(frozen=True)
class ObjectiveConfig(AlgorithmConfig):
    """Which H(r) is minimised."""

    availability_objective: str = parameter(
        Reading(
            "R9",
            Derived(_objective, "p where clients are available together, else p_squared"),
            "p_squared",
        ),
        "H(r) sums p^2 / r or p / r",
        choices=("p_squared", "p"),
    )


@dataclass(frozen=True)
class RateBetaConfig(AlgorithmConfig):
    """How fast participation rates move."""

    rate_beta: float = parameter(0.001, "step size of F3AST's rates", above=0, below=1)


@dataclass(frozen=True)
class TiesConfig(AlgorithmConfig):
    """What decides between equal clients."""

    ties: str = parameter(
        Reading("R11", "random", "lowest_id"),
        "equal utilities go to",
        choices=("random", "lowest_id"),
    )


@dataclass(frozen=True)
class KnowledgeConfig(AlgorithmConfig):
    """What the server knows of who is available: the truth, or an estimate (CA-Fed, Sec. IV-B)."""

    activity: str = parameter(
        "oracle",
        "the server knows pi_k and lambda_k, or estimates them",
        choices=("oracle", "estimated"),
    )
    activity_history: int = parameter(
        0, "rounds observed beforehand, for estimated activity", minimum=0
    )

    @classmethod
    def depends_on_rounds(cls, settings: Any) -> bool:
        """See `AlgorithmConfig.depends_on_rounds`: rounds after the last are observed."""
        return settings["activity"] == "estimated" and settings["activity_history"] > 0

    def knowledge(self, world: World, with_eigenvalue: bool = False) -> AvailabilityKnowledge:
        """Returns the true pi_k, or an estimator that has seen rounds that the run does not reach.

        Args:
            world: The experiment.
            with_eigenvalue: Whether lambda_k is needed too.

        Raises:
            ParameterError: If the truth is asked for and the availability process has none.
        """
        process, n = world.availability, world.num_clients
        if self.activity == "estimated":
            prior = AvailabilityPrior.uniform(n)
            if self.activity_history:
                rounds = range(world.rounds + 1, world.rounds + 1 + self.activity_history)
                prior = prior.after(np.array([process.mask(t) for t in rounds]))
            return EstimatedAvailability(prior)
        eigenvalue = getattr(process, "eigenvalue", None)
        if (
            eigenvalue is None
            and isinstance(process, IndependentAvailability)
            and not process.periodic
        ):
            eigenvalue = np.zeros(n)
        if process.stationary is None or (with_eigenvalue and eigenvalue is None):
            allowed = f"is not known of {type(process).__name__}; must be estimated"
            raise ParameterError("activity", self.activity, allowed)
        return KnownAvailability(process.stationary, eigenvalue)
