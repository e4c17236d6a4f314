"""F3AST with a fixed policy, Algorithm 2: a policy with the best rates r*, weights p / r*."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.lazy_names import renamed
from f3ast_tff.core.policies import Policy
from f3ast_tff.core.saved_state import SavedState
from f3ast_tff.methods.parts.algorithm import ObjectiveConfig
from f3ast_tff.methods.parts.method import method
from f3ast_tff.methods.parts.own_server import own_world
from f3ast_tff.methods.parts.selecting_method import SelectingMethod, takes_old_arguments
from f3ast_tff.methods.parts.strategy import Cohort, Round, StrategyContext
from f3ast_tff.rate_region import StatesOracle, greedy_policy, optimal_rates, sampled_states
from f3ast_tff.settings import parameter
from f3ast_tff.settings.configuration import Settings

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class RatedPolicy(SavedState):
    """A policy and its long-term rates; rounds do not change them.

    Attributes:
        rates: r, `float64 [N]`, above 0 for all clients that the policy can select.
        policy: f^r.
    """

    rates: np.ndarray
    policy: Policy


@takes_old_arguments
@method(
    "f3ast_fixed",
    "F3AST, fixed policy",
    about="selects by a static policy of the best rates r*, weighs by p / r*",
    order=5,
    reaches_optimum=True,
)
@dataclass(frozen=True)
class FixedPolicy(SelectingMethod, ObjectiveConfig):
    """Selects by a policy f^r and weighs each update by p_k / r_k, r its long-term rate (line 8).

    The weights are meant for a SUM, which is unbiased (Lemma B.1) if the policy achieves r. A run
    has the policy of the best rates r*; `following` takes another, and `f3ast_tff.rate_region`
    gives a policy for a target rate.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import FixedPolicy, IndependentOracle, greedy_policy, optimal_rates
        >>> from f3ast_tff.methods import Round, RoundConstraint, cohort_of
        >>> p, availability = np.array([0.5, 0.3, 0.2]), np.array([0.9, 0.9, 0.1])
        >>> best = optimal_rates(p, "p_squared", IndependentOracle(availability, 1))
        >>> strategy = FixedPolicy.following(p, best.rates, greedy_policy(best))
        >>> cohort = cohort_of(strategy, Round(1, np.ones(3, bool), RoundConstraint(1)))
        >>> cohort.ids.tolist(), cohort.weights.round(1).tolist()  # Client 2 is rarely available.
        ([2], [2.0])
    """

    policy_states: int = parameter(
        500,
        "number of available sets, drawn beforehand, from which r* is computed",
        minimum=1,
        maximum=10**5,
    )

    @classmethod
    def following(cls, p: Any, rates: np.ndarray, policy: Policy, seed: int = 0) -> FixedPolicy:
        """Returns a copy that plays a given policy on a server of one's own.

        Args:
            p: Client shares p_k, `float [N]`, of sum 1.
            rates: r, `float64 [N]`, above 0 for all clients that the policy can select.
            policy: f^r.
            seed: Seed of the draws.
        """
        world = own_world(p, len(p), seed=seed)
        return cls()._playing(world, {"": RatedPolicy(rates, policy)})

    def first_state(self, world: StrategyContext) -> dict[str, Any]:
        """Returns the policy of the best rates, a part without a state."""
        # Rounds after the run, so that the policy has not seen the run's available sets.
        foreseen = range(world.rounds + 1, world.rounds + 1 + self.policy_states)
        masks = (world.availability.mask(t) for t in foreseen)
        oracle = StatesOracle(sampled_states(masks, world.constraint.largest_k))
        objective = self.availability_objective
        try:
            best = optimal_rates(world.p, objective, oracle, tolerance=1e-3, max_steps=3000)
        except ValueError as error:
            raise ParameterError("policy_states", self.policy_states, str(error)) from error
        _LOG.info("r*: H %.4g, duality gap %.2g", best.value, best.gap)
        return {"": RatedPolicy(best.rates, greedy_policy(best))}

    @property
    def rates(self) -> np.ndarray:
        """r, the policy's long-term rates, `float64 [N]`."""
        rates: np.ndarray = self.kept[""].rates
        return rates

    def select(self, now: Round) -> np.ndarray:
        if not now.constraint.counts_only:
            raise ValueError("a fixed policy knows no constraint but the number of clients")
        policy: Policy = self.kept[""].policy
        return policy.choose(now.available, now.constraint.k, now.generator(self.seed))

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        cohort_ids = ids[delivered]
        return Cohort(cohort_ids, self.p[cohort_ids] / self.rates[cohort_ids])

    @classmethod
    def depends_on_rounds(cls, settings: Any) -> bool:
        """The policy uses rounds after the last."""
        return True

    def check(self, settings: Settings) -> None:
        if settings.constraint is not None:
            allowed = "f3ast_fixed has its policy for a fixed K, clients_per_round"
            raise ParameterError("constraint", settings.constraint, allowed)


__getattr__ = renamed(__name__, F3ASTFixedConfig=FixedPolicy)
