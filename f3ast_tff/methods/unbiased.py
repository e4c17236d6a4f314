"""CA-Fed's benchmarks (Sec. V-A c): Unbiased, More available and AdaFed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np

from f3ast_tff.availability.process import IndependentAvailability, eigenvalue_of, stationary_of
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.methods.parts.algorithm import MEAN_OF_AVAILABLE, AlgorithmConfig, StrategyContext
from f3ast_tff.methods.parts.all_available import TakesAvailable
from f3ast_tff.methods.parts.availability_knowledge import (
    AvailabilityKnowledge,
    EstimatedAvailability,
    KnownAvailability,
)
from f3ast_tff.methods.parts.method import method
from f3ast_tff.methods.parts.selecting_method import SelectingMethod, takes_old_arguments
from f3ast_tff.methods.parts.strategy import Cohort, Round
from f3ast_tff.settings import parameter

_Method = TypeVar("_Method", bound="FollowsAvailability")


@dataclass(frozen=True)
class KnowledgeConfig(AlgorithmConfig):
    """The server's knowledge of availability: the truth, or an estimate (CA-Fed, Sec. IV-B)."""

    availability_knowledge: str = parameter(
        "oracle",
        "the server knows pi_k and lambda_k, or estimates them",
        choices=("oracle", "estimated"),
    )
    availability_history: int = parameter(
        0, "rounds observed beforehand, for an estimate", minimum=0, maximum=10**5
    )

    @classmethod
    def depends_on_rounds(cls, settings: Any) -> bool:
        """The estimator observes rounds after the last."""
        return (
            settings["availability_knowledge"] == "estimated"
            and settings["availability_history"] > 0
        )

    def knowledge_of(
        self, world: StrategyContext, with_eigenvalue: bool = False
    ) -> AvailabilityKnowledge:
        """Returns the true pi_k, or an estimator that has observed rounds after the run.

        Args:
            world: The experiment.
            with_eigenvalue: Whether lambda_k is needed too.

        Raises:
            ParameterError: If the truth is asked for and the availability process does not know it.
        """
        process, n = world.availability, world.num_clients
        if self.availability_knowledge == "estimated":
            rounds = range(world.rounds + 1, world.rounds + 1 + self.availability_history)
            history = np.array([process.mask(t) for t in rounds])
            return EstimatedAvailability(n, history if len(history) else None)
        eigenvalue = eigenvalue_of(process)
        if (
            eigenvalue is None
            and isinstance(process, IndependentAvailability)
            and not process.periodic
        ):
            eigenvalue = np.zeros(n)
        stationary = stationary_of(process)
        if stationary is None or (with_eigenvalue and eigenvalue is None):
            allowed = f"is not known of {type(process).__name__}; must be estimated"
            raise ParameterError("availability_knowledge", self.availability_knowledge, allowed)
        return KnownAvailability(stationary, eigenvalue)


class FollowsAvailability(SelectingMethod, KnowledgeConfig, TakesAvailable):
    """Base of methods whose weights depend on the server's knowledge of availability.

    p_k is the target importance (alpha_k in CA-Fed). A client of share 0 takes no part. The draws
    of rounds with more than K available clients follow from the seed.

    Attributes:
        knowledge_prefix: Prefix of the knowledge's names in a checkpoint.
        needs_eigenvalue: Whether the method needs lambda_k too.
    """

    knowledge_prefix: ClassVar[str] = ""
    needs_eigenvalue: ClassVar[bool] = False

    @classmethod
    def knowing(
        cls: type[_Method], p: np.ndarray, knowledge: AvailabilityKnowledge, **given: Any
    ) -> _Method:
        """Returns a copy that plays with this knowledge on a server of one's own.

        Args:
            p: Client shares p_k, `float64 [N]`, of sum 1.
            knowledge: Knowledge of pi_k; observes every round.
            **given: Seed and parameters of `start`.

        Raises:
            ValueError: If the knowledge is of another number of clients, or rules out all.
        """
        playing = cls.start(p, len(p), **given)
        playing.check_knowledge(playing.p, knowledge)
        playing.kept[cls.knowledge_prefix] = knowledge
        return playing

    def first_state(self, world: StrategyContext) -> dict[str, Any]:
        """Returns the knowledge of availability."""
        knowledge = self.knowledge_of(world, with_eigenvalue=self.needs_eigenvalue)
        self.check_knowledge(world.p, knowledge)
        return {self.knowledge_prefix: knowledge}

    def check_knowledge(self, p: np.ndarray, knowledge: AvailabilityKnowledge) -> None:
        """Checks knowledge before round 1.

        Raises:
            ValueError: If it is of another number of clients, or rules out all.
        """
        if p.shape != knowledge.pi.shape:
            raise ValueError(f"p has shape {p.shape}, pi {knowledge.pi.shape}")

    @property
    def knowledge(self) -> AvailabilityKnowledge:
        """Knowledge of pi_k; observes every round."""
        known: AvailabilityKnowledge = self.kept[self.knowledge_prefix]
        return known

    def _known_in(self, now: Round) -> AvailabilityKnowledge:
        return self.knowledge.after(now.number, now.available)

    def _learn_in(self, now: Round) -> AvailabilityKnowledge:
        self.kept[self.knowledge_prefix] = known = self._known_in(now)
        return known


@takes_old_arguments
@method(
    "unbiased",
    "Unbiased",
    about="takes all available clients (or K of them), weighs by p / pi",
    order=8,
    corrects=MEAN_OF_AVAILABLE,
    reaches_optimum=True,
)
@dataclass(frozen=True)
class Unbiased(FollowsAvailability):
    """Takes all available clients with q_k = p_k / pi_k (Guideline C).

    In the long run the sum of q_k v_k has expectation sum_k p_k v_k, for any correlation of clients
    in time. The weights are meant for a SUM, never a normalised mean. If more than K clients are
    available, K of them are drawn uniformly, and their weights grow accordingly (see
    `uniform_part`).

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.methods import Round, RoundConstraint, cohort_of
        >>> from f3ast_tff.methods.parts.availability_knowledge import KnownAvailability
        >>> from f3ast_tff.methods.unbiased import Unbiased
        >>> strategy = Unbiased.knowing([0.5, 0.3, 0.2], KnownAvailability([1.0, 0.5, 0.1]))
        >>> now = Round(1, np.array([True, False, True]), RoundConstraint(3))
        >>> cohort_of(strategy, now).weights.tolist()
        [0.5, 2.0]
    """

    unbiased: ClassVar[bool | None] = True
    step_scale: ClassVar[float | None] = 1

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        """Weighs by p_k over the known pi_k.

        Raises:
            ValueError: If a selected client has pi_k = 0 by the server's knowledge.
        """
        known = self._learn_in(now)
        factor = self._drawn(now, self._candidates(known))[1]
        weights = inverse_availability(self.p, known.pi, ids[delivered])
        return Cohort(ids[delivered], weights * factor)

    def _candidates(self, known: AvailabilityKnowledge) -> np.ndarray:
        return self.p > 0


@takes_old_arguments
@method(
    "more_available",
    "More available",
    about="as Unbiased, but only with clients whose pi_k reaches a bound",
    order=9,
    corrects=AlgorithmConfig.corrects,
    reaches_optimum=False,
)
@dataclass(frozen=True)
class MoreAvailable(Unbiased):
    """Takes the available clients of pi_k at least `more_available_pi`, with q_k = p_k / pi_k.

    The paper's classes have pi_k = 1/2 + g and 1/2 - g, so 1/2 separates them. The paper does not
    give the weights; these are CA-Fed's weights (Guideline C) when it excludes all other clients.
    With estimates a client may change its class. The weights are meant for a SUM.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.methods import Round, RoundConstraint, cohort_of
        >>> from f3ast_tff.methods.parts.availability_knowledge import KnownAvailability
        >>> from f3ast_tff.methods.unbiased import MoreAvailable
        >>> strategy = MoreAvailable.knowing([0.5, 0.3, 0.2], KnownAvailability([1.0, 0.5, 0.1]))
        >>> cohort = cohort_of(strategy, Round(1, np.ones(3, bool), RoundConstraint(3)))
        >>> cohort.ids.tolist(), cohort.weights.tolist()  # Never client 2, of pi = 0.1.
        ([0, 1], [0.5, 0.6])
    """

    unbiased: ClassVar[bool | None] = False
    step_scale: ClassVar[float | None] = None

    more_available_pi: float = parameter(0.5, "least pi_k that counts", above=0, maximum=1)

    def check_knowledge(self, p: np.ndarray, knowledge: AvailabilityKnowledge) -> None:
        super().check_knowledge(p, knowledge)
        least, pi = self.more_available_pi, knowledge.pi
        if isinstance(knowledge, KnownAvailability) and not np.any(pi >= least):
            allowed = f"no client is available so often (the most: {pi.max():.4g})"
            raise ParameterError("more_available_pi", least, allowed)

    def select(self, now: Round) -> np.ndarray:
        return self._drawn(now, self._candidates(self._known_in(now)))[0]

    def _candidates(self, known: AvailabilityKnowledge) -> np.ndarray:
        return (self.p > 0) & (known.pi >= self.more_available_pi)


@takes_old_arguments
@method(
    "adafed",
    "AdaFed",
    about="as Unbiased, with the weights of each round scaled to sum to 1",
    order=10,
    corrects=AlgorithmConfig.corrects,
    reaches_optimum=False,
)
@dataclass(frozen=True)
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
        >>> strategy = AdaFed.knowing([0.5, 0.3, 0.2], KnownAvailability([1.0, 0.5, 0.1]))
        >>> now = Round(1, np.array([True, False, True]), RoundConstraint(3))
        >>> cohort_of(strategy, now).weights.round(3).tolist()
        [0.2, 0.8]
    """

    unbiased: ClassVar[bool | None] = False

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
