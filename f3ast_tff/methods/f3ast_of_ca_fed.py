"""The rule that CA-Fed's authors ran under the name F3AST, by their released code; not `F3AST`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from f3ast_tff.methods.parts.algorithm import KnowledgeConfig, RateBetaConfig, StrategyContext
from f3ast_tff.methods.parts.availability_knowledge import AvailabilityKnowledge
from f3ast_tff.methods.parts.choosing import ranked
from f3ast_tff.methods.parts.strategy import BaseStrategy, Cohort, Round, Strategy
from f3ast_tff.methods.unbiased import check_shares, inverse_availability
from f3ast_tff.settings import register


@dataclass
class F3ASTOfCAFed(BaseStrategy):
    """Takes the K available clients of largest p_k / r_k, r_k = (1 - beta) pi_k + beta 1_{A_t}.

    F3AST tracks how often it selects a client itself; this rule takes r_k from the client's
    availability (the true pi_k, or its estimate), anew in every round, and moves it by who is
    available, not by who is selected. So the same clients win whenever they are there: those
    "less available". Weights p_k / r_k, for a SUM. Equal p_k / r_k go to the lowest id, as in the
    released code.

    Attributes:
        p: Client shares p_k, `float64 [N]`; a client of share 0 takes no part.
        knowledge: Knowledge of pi_k; observes every round.
        beta: Smoothness, in [0, 1): 1 / T, T the number of rounds, in the released code.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.methods import Round, RoundConstraint, cohort_of
        >>> from f3ast_tff.methods.f3ast_of_ca_fed import F3ASTOfCAFed
        >>> from f3ast_tff.methods.parts.availability_knowledge import KnownAvailability
        >>> strategy = F3ASTOfCAFed(np.full(3, 1 / 3), KnownAvailability([0.9, 0.5, 0.2]), beta=0.0)
        >>> rounds = [Round(t, np.ones(3, bool), RoundConstraint(1)) for t in (1, 2, 3)]
        >>> [cohort_of(strategy, now).ids.tolist() for now in rounds]  # Always the least available.
        [[2], [2], [2]]
    """

    method: ClassVar[str] = "f3ast_of_ca_fed"

    p: np.ndarray
    knowledge: AvailabilityKnowledge
    beta: float

    def __post_init__(self) -> None:
        check_shares(self.p, self.knowledge)

    def select(self, now: Round) -> np.ndarray:
        """See `Strategy.select`."""
        candidates, worth = self._worth(now, self._known_in(now))
        return now.constraint.admit(ranked(candidates, worth, None))

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        """See `Strategy.weigh`.

        Raises:
            ValueError: If a client is available whose pi_k is said to be 0, and beta is 0.
        """
        self.knowledge = self._known_in(now)
        cohort_ids = ids[delivered]
        return Cohort(cohort_ids, self._worth(now, self.knowledge)[1][cohort_ids])

    def _known_in(self, now: Round) -> AvailabilityKnowledge:
        return self.knowledge.after(now.number, now.available)

    def _worth(self, now: Round, known: AvailabilityKnowledge) -> tuple[np.ndarray, np.ndarray]:
        """Returns candidates, `int [m]`, and p_k / r_k of these, `float64 [N]`."""
        candidates = np.flatnonzero(now.available & (self.p > 0))
        # Only available clients count, so the indicator is 1.
        rates = (1 - self.beta) * known.pi + self.beta
        worth = np.zeros(len(self.p))
        worth[candidates] = inverse_availability(self.p, rates, candidates)
        return candidates, worth

    def state(self) -> dict[str, np.ndarray]:
        """Returns the estimates of availability."""
        return self.knowledge.state()

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Takes back what `state` returned."""
        self.knowledge.restore(state)


@register(
    "algorithm",
    "f3ast_of_ca_fed",
    "F3AST (CA-Fed's rule)",
    about="takes the K clients of largest p / pi, ties to the lowest id, weighs by p / r",
    order=12,
)
@dataclass(frozen=True)
class F3ASTOfCAFedConfig(KnowledgeConfig, RateBetaConfig):
    """Configuration of `F3ASTOfCAFed`."""

    def build(self, world: StrategyContext) -> Strategy:
        return F3ASTOfCAFed(world.p, self.knowledge(world), self.rate_beta)
