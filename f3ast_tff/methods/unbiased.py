"""CA-Fed's benchmarks (Sec. V-A c): Unbiased, More available and AdaFed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.local_training import check_client_shares
from f3ast_tff.methods.parts.algorithm import MEAN_OF_AVAILABLE, KnowledgeConfig, StrategyContext
from f3ast_tff.methods.parts.all_available import TakesAvailable
from f3ast_tff.methods.parts.availability_knowledge import AvailabilityKnowledge, KnownAvailability
from f3ast_tff.methods.parts.strategy import Cohort, Round, Strategy
from f3ast_tff.settings import parameter, register


class FollowsAvailability(TakesAvailable):
    """Base of strategies whose weights depend on the server's knowledge of availability.

    Attributes:
        p: Client shares p_k, the target importance (alpha_k in CA-Fed), `float64 [N]`; a client of
            share 0 takes no part.
        knowledge: Knowledge of pi_k; observes every round.
    """

    knowledge: AvailabilityKnowledge

    def __post_init__(self) -> None:
        if self.p.shape != self.knowledge.pi.shape:
            raise ValueError(f"p has shape {self.p.shape}, pi {self.knowledge.pi.shape}")
        check_client_shares(self.p)

    def _known_in(self, now: Round) -> AvailabilityKnowledge:
        return self.knowledge.after(now.number, now.available)

    def saved_parts(self) -> dict[str, Any]:
        """Returns the knowledge of availability."""
        return {"": self.knowledge}


@dataclass
class Unbiased(FollowsAvailability):
    """Takes all available clients with q_k = p_k / pi_k (Guideline C).

    In the long run the sum of q_k v_k has expectation sum_k p_k v_k, for any correlation of clients
    in time. The weights are meant for a SUM, never a normalised mean. If more than K clients are
    available, K of them are drawn uniformly, and their weights grow accordingly (see
    `uniform_part`).

    Attributes:
        seed: Seed of the draws in rounds with more than K available clients.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.methods import Round, RoundConstraint, cohort_of
        >>> from f3ast_tff.methods.parts.availability_knowledge import KnownAvailability
        >>> from f3ast_tff.methods.unbiased import Unbiased
        >>> strategy = Unbiased(np.array([0.5, 0.3, 0.2]), KnownAvailability([1.0, 0.5, 0.1]))
        >>> now = Round(1, np.array([True, False, True]), RoundConstraint(3))
        >>> cohort_of(strategy, now).weights.tolist()
        [0.5, 2.0]
    """

    method: ClassVar[str] = "unbiased"

    p: np.ndarray
    knowledge: AvailabilityKnowledge
    seed: int = 0

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        """Weighs by p_k over the known pi_k.

        Raises:
            ValueError: If a selected client has pi_k = 0 by the server's knowledge.
        """
        self.knowledge = self._known_in(now)
        factor = self._drawn(now, self._candidates(self.knowledge))[1]
        weights = inverse_availability(self.p, self.knowledge.pi, ids[delivered])
        return Cohort(ids[delivered], weights * factor)

    def _candidates(self, known: AvailabilityKnowledge) -> np.ndarray:
        return self.p > 0


@dataclass
class MoreAvailable(Unbiased):
    """Takes the available clients of pi_k at least `least_pi`, with q_k = p_k / pi_k.

    The paper's classes have pi_k = 1/2 + g and 1/2 - g, so 1/2 separates them. The paper does not
    give the weights; these are CA-Fed's weights (Guideline C) when it excludes all other clients.
    With estimates a client may change its class. The weights are meant for a SUM.

    Attributes:
        least_pi: Least pi_k of a client that counts as often available, in (0, 1].

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.methods import Round, RoundConstraint, cohort_of
        >>> from f3ast_tff.methods.parts.availability_knowledge import KnownAvailability
        >>> from f3ast_tff.methods.unbiased import MoreAvailable
        >>> strategy = MoreAvailable(np.array([0.5, 0.3, 0.2]), KnownAvailability([1.0, 0.5, 0.1]))
        >>> cohort = cohort_of(strategy, Round(1, np.ones(3, bool), RoundConstraint(3)))
        >>> cohort.ids.tolist(), cohort.weights.tolist()  # Never client 2, of pi = 0.1.
        ([0, 1], [0.5, 0.6])
    """

    method: ClassVar[str] = "more_available"

    least_pi: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.knowledge, KnownAvailability) and not np.any(
            self.knowledge.pi >= self.least_pi
        ):
            allowed = f"no client is available so often (the most: {self.knowledge.pi.max():.4g})"
            raise ParameterError("more_available_pi", self.least_pi, allowed)

    def select(self, now: Round) -> np.ndarray:
        return self._drawn(now, self._candidates(self._known_in(now)))[0]

    def _candidates(self, known: AvailabilityKnowledge) -> np.ndarray:
        return (self.p > 0) & (known.pi >= self.least_pi)


@dataclass
class AdaFed(Unbiased):
    """Takes all available clients with q_k proportional to p_k / pi_k, of sum 1 in every round.

    CA-Fed's experiments (Sec. V-A c) and code have only this case; AdaFed's choice of the number of
    clients to sample is left out. If more than K clients are available, the weights of the drawn
    clients sum to 1. The weights are meant for a SUM; a normalised mean gives the same.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.methods import Round, RoundConstraint, cohort_of
        >>> from f3ast_tff.methods.parts.availability_knowledge import KnownAvailability
        >>> from f3ast_tff.methods.unbiased import AdaFed
        >>> strategy = AdaFed(np.array([0.5, 0.3, 0.2]), KnownAvailability([1.0, 0.5, 0.1]))
        >>> now = Round(1, np.array([True, False, True]), RoundConstraint(3))
        >>> cohort_of(strategy, now).weights.round(3).tolist()
        [0.2, 0.8]
    """

    method: ClassVar[str] = "adafed"

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        cohort = super().weigh(now, ids, delivered)
        return Cohort(cohort.ids, cohort.weights / np.sum(cohort.weights))


def inverse_availability(p: np.ndarray, pi: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Returns p_k / pi_k of some clients, `float64 [m]` for ids `int [m]`.

    Raises:
        ParameterError: If a client among `ids` has a pi_k of 0.
    """
    never = ids[pi[ids] <= 0]
    if len(never):
        allowed = f"must be above 0 for client {never[0]}, who is available"
        raise ParameterError("stationary", pi[never[0]], allowed)
    return p[ids] / pi[ids]


@register(
    "algorithm",
    "unbiased",
    "Unbiased",
    about="takes all available clients (or K of them), weighs by p / pi",
    order=8,
)
@dataclass(frozen=True)
class UnbiasedConfig(KnowledgeConfig):
    """Configuration of `Unbiased`."""

    corrects: ClassVar[Mapping[str, str]] = MEAN_OF_AVAILABLE

    def build(self, world: StrategyContext) -> Strategy:
        return Unbiased(world.p, self.knowledge(world), world.seed)


@register(
    "algorithm",
    "more_available",
    "More available",
    about="as Unbiased, but only with clients whose pi_k reaches a bound",
    order=9,
)
@dataclass(frozen=True)
class MoreAvailableConfig(KnowledgeConfig):
    """Configuration of `MoreAvailable`."""

    more_available_pi: float = parameter(0.5, "least pi_k that counts", above=0, maximum=1)

    def build(self, world: StrategyContext) -> Strategy:
        known = self.knowledge(world)
        return MoreAvailable(world.p, known, world.seed, least_pi=self.more_available_pi)


@register(
    "algorithm",
    "adafed",
    "AdaFed",
    about="as Unbiased, with the weights of each round scaled to sum to 1",
    order=10,
)
@dataclass(frozen=True)
class AdaFedConfig(KnowledgeConfig):
    """Configuration of `AdaFed`."""

    def build(self, world: StrategyContext) -> Strategy:
        return AdaFed(world.p, self.knowledge(world), world.seed)
