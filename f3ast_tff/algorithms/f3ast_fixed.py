"""F3AST with a fixed policy, Algorithm 2, that achieves the best rates r*."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from f3ast_tff.algorithms.algorithm import World
from f3ast_tff.algorithms.shared import ObjectiveConfig
from f3ast_tff.components import parameter, register
from f3ast_tff.errors import ParameterError
from f3ast_tff.rate_region import StatesOracle, greedy_policy, optimal_rates, sampled_states
from f3ast_tff.selection import FixedPolicy, Strategy


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

    policy_states: int = parameter(
        500, "available sets, drawn beforehand, from which r* is computed", minimum=1
    )

    def build(self, world: World) -> Strategy:
        """See `AlgorithmConfig.build`."""
        # Rounds that the run does not reach: the policy must not have seen its available sets.
        foreseen = range(world.rounds + 1, world.rounds + 1 + self.policy_states)
        masks = (world.availability.mask(t) for t in foreseen)
        oracle = StatesOracle(sampled_states(masks, world.constraint.largest_k))
        objective = self.availability_objective
        try:
            best = optimal_rates(world.p, objective, oracle, tolerance=1e-3, max_steps=3000)
        except ValueError as error:
            raise ParameterError("policy_states", self.policy_states, str(error)) from error
        logging.info("r*: H %.4g, duality gap %.2g", best.value, best.gap)
        return FixedPolicy(world.p, best.rates, greedy_policy(best), world.seed)

    @classmethod
    def depends_on_rounds(cls, settings: Any) -> bool:
        """See `AlgorithmConfig.depends_on_rounds`: its policy is of rounds after the last."""
        return True

    def check(self, settings: Mapping[str, Any]) -> None:
        """See `AlgorithmConfig.check`."""
        text = settings.get("communication")
        if text is not None:
            allowed = "f3ast_fixed has its policy for a fixed K, clients_per_round"
            raise ParameterError("communication", text, allowed)
