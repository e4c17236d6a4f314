"""The rule that CA-Fed's authors ran under the name F3AST: the least available clients first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from f3ast_tff.core.choosing import ranked
from f3ast_tff.methods.parts.algorithm import RateBetaConfig
from f3ast_tff.methods.parts.availability_knowledge import AvailabilityKnowledge
from f3ast_tff.methods.parts.method import method
from f3ast_tff.methods.parts.selecting_method import takes_old_arguments
from f3ast_tff.methods.parts.strategy import Cohort, Round
from f3ast_tff.methods.unbiased import FollowsAvailability, inverse_availability


@takes_old_arguments
@method(
    "f3ast_of_ca_fed",
    "F3AST (CA-Fed's rule)",
    about="takes the K clients of largest p / pi, ties to the lowest id, weighs by p / r",
    order=12,
    step_scale=1,
)
@dataclass(frozen=True)
class F3ASTOfCAFed(FollowsAvailability, RateBetaConfig):
    """The rule that CA-Fed's authors ran under the name F3AST, by their code; not `F3AST`.

    Takes the K available clients of largest p_k / r_k, r_k = (1 - beta) pi_k + beta 1_{A_t}.

    F3AST tracks how often it selects a client. This rule instead computes r_k anew in every round
    from the client's availability (the true pi_k, or its estimate) and from the available clients
    A_t, not from the selected clients. So the same "less available" clients win whenever they are
    available. Weights are p_k / r_k, for a SUM. Ties in p_k / r_k go to the lowest id, as in the
    released code. beta is 1 / T, T the number of rounds, in the released code.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.methods import Round, RoundConstraint, cohort_of
        >>> from f3ast_tff.methods.parts.availability_knowledge import KnownAvailability
        >>> from f3ast_tff.methods.f3ast_of_ca_fed import F3ASTOfCAFed
        >>> strategy = F3ASTOfCAFed.knowing(np.full(3, 1 / 3), KnownAvailability([0.9, 0.5, 0.2]))
        >>> rounds = [Round(t, np.ones(3, bool), RoundConstraint(1)) for t in (1, 2, 3)]
        >>> [cohort_of(strategy, now).ids.tolist() for now in rounds]  # Always the least available.
        [[2], [2], [2]]
    """

    def select(self, now: Round) -> np.ndarray:
        candidates = np.flatnonzero(now.available & (self.p > 0))
        worth = np.zeros(len(self.p))
        worth[candidates] = self._worth(self._known_in(now), now.available, candidates)
        return now.constraint.admit(ranked(candidates, worth, None))

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        """Weighs by p_k / r_k.

        Raises:
            ValueError: If a selected client has r_k = 0 by the server's knowledge.
        """
        known = self._learn_in(now)
        return Cohort(ids[delivered], self._worth(known, now.available, ids[delivered]))

    def _worth(
        self, known: AvailabilityKnowledge, available: np.ndarray, ids: np.ndarray
    ) -> np.ndarray:
        """p_k / r_k of clients; one whose update is late may be absent by now."""
        r = (1 - self.rate_beta) * known.pi + self.rate_beta * available
        return inverse_availability(self.p, r, ids)
