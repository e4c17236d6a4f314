"""F3AST with a fixed policy, Algorithm 2: a policy with the best rates r*, weights p / r*."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.local_training import check_client_shares
from f3ast_tff.core.policies import Policy
from f3ast_tff.methods.parts.algorithm import ObjectiveConfig, StrategyContext
from f3ast_tff.methods.parts.strategy import BaseStrategy, Cohort, Round, Strategy
from f3ast_tff.rate_region import StatesOracle, greedy_policy, optimal_rates, sampled_states
from f3ast_tff.settings import parameter, register
from f3ast_tff.settings.configuration import Settings

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class FixedPolicy(BaseStrategy):
    """Selects by a policy f^r and weighs each update by p_k / r_k, r its long-term rate (line 8).

    The weights are meant for a SUM, which is unbiased (Lemma B.1) if the policy achieves r.
    `f3ast_tff.rate_region` gives a policy for a target rate or for the best rate.

    Attributes:
        p: Client shares p_k, `float64 [N]`.
        rates: r, `float64 [N]`, above 0 for all clients that the policy can select.
        policy: f^r.
        seed: Seed of the draws.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import FixedPolicy, IndependentOracle, greedy_policy, optimal_rates
        >>> from f3ast_tff.methods import Round, RoundConstraint, cohort_of
        >>> p, availability = np.array([0.5, 0.3, 0.2]), np.array([0.9, 0.9, 0.1])
        >>> best = optimal_rates(p, "p_squared", IndependentOracle(availability, 1))
        >>> strategy = FixedPolicy(p, best.rates, greedy_policy(best))
        >>> cohort = cohort_of(strategy, Round(1, np.ones(3, bool), RoundConstraint(1)))
        >>> cohort.ids.tolist(), cohort.weights.round(1).tolist()  # Client 2 is rarely available.
        ([2], [2.0])
    """

    method: ClassVar[str] = "f3ast_fixed"

    p: np.ndarray
    rates: np.ndarray
    policy: Policy
    seed: int = 0

    def __post_init__(self) -> None:
        check_client_shares(self.p)

    def select(self, now: Round) -> np.ndarray:
        if not now.constraint.counts_only:
            raise ValueError("a fixed policy knows no constraint but the number of clients")
        rng = now.generator(self.seed)
        return self.policy.choose(now.available, now.constraint.k, rng)

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        cohort_ids = ids[delivered]
        return Cohort(cohort_ids, self.p[cohort_ids] / self.rates[cohort_ids])


@register(
    "algorithm",
    "f3ast_fixed",
    "F3AST, fixed policy",
    about="selects by a static policy of the best rates r*, weighs by p / r*",
    order=5,
)
@dataclass(frozen=True)
class F3ASTFixedConfig(ObjectiveConfig):
    """Configuration of `FixedPolicy`."""

    reaches_optimum: ClassVar[bool | None] = True

    policy_states: int = parameter(
        500,
        "number of available sets, drawn beforehand, from which r* is computed",
        minimum=1,
        maximum=10**5,
    )

    def build(self, world: StrategyContext) -> Strategy:
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
        return FixedPolicy(world.p, best.rates, greedy_policy(best), world.seed)

    @classmethod
    def depends_on_rounds(cls, settings: Any) -> bool:
        """The policy uses rounds after the last."""
        return True

    def check(self, settings: Settings) -> None:
        if settings.constraint is not None:
            allowed = "f3ast_fixed has its policy for a fixed K, clients_per_round"
            raise ParameterError("constraint", settings.constraint, allowed)
