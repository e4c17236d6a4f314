"""CA-Fed (Rodio et al. 2024), Algorithm 1: exclude the rare and correlated while it pays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from f3ast_tff.errors import ParameterError
from f3ast_tff.estimation import AvailabilityKnowledge, LossEstimates
from f3ast_tff.randomness import generator
from f3ast_tff.selection.ca_fed_exclusion import TotalError, included_clients
from f3ast_tff.selection.strategy import BaseStrategy, Cohort, Round
from f3ast_tff.selection.unbiased import check_shares, inverse_availability, uniform_part

_AVAILABILITY, _LOSSES = "availability_", "losses_"


@dataclass
class CAFed(BaseStrategy):
    """Selection and weights of Algorithm 1.

    Each round: the available clients report their loss (line 3), the estimates move (line 4), all
    clients, available or not, are tried for exclusion (lines 5-7), and the available ones among
    those included train, with q_k = p_k / pi_k. The weights are meant for a SUM.

    Where K is below the number of those available, K of them are drawn uniformly before anything
    else, and only these report (App. H2); their weights grow accordingly (see `uniform_part`), of
    which the appendix says nothing. So at most K clients are talked to.

    Attributes:
        p: Client shares p_k, the target importance alpha_k, `float64 [N]`.
        knowledge: What is known of pi_k and lambda_k; observes every round.
        loss_estimates: The estimates of F_k, F*_k and Gamma', moved by every round.
        kappa2: kappa^2, what bias weighs against slow convergence, at least 0: the larger, the
            fewer are excluded (Sec. IV-C).
        tau: By how much the estimated error must fall for an exclusion, at least 0.
        bias_factor: What multiplies kappa^2 in eq. (16): 4, or 1 in the released code.
        strict: Whether the error must fall by more than tau (Sec. IV-A), or by at least tau (line
            19, and the released code); see `ca_fed_exclusion.exclude`.
        seed: Seed of the draws where K is short.
    """

    needs_losses: ClassVar[bool] = True

    p: np.ndarray
    knowledge: AvailabilityKnowledge
    loss_estimates: LossEstimates
    kappa2: float = 1.0
    tau: float = 0.0
    bias_factor: float = 4.0
    strict: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        check_shares(self.p, self.knowledge)
        shapes = self.knowledge.eigenvalue.shape, self.loss_estimates.gap.shape
        if shapes != (self.p.shape, self.p.shape):
            raise ValueError(f"eigenvalue and losses have shapes {shapes}, p {self.p.shape}")
        for name in ("kappa2", "tau", "bias_factor"):
            value = getattr(self, name)
            if not (value >= 0 and np.isfinite(value)):
                raise ParameterError(name, value, "must be at least 0 and finite")

    @property
    def client_loss(self) -> str:
        """See `BaseStrategy.client_loss`."""
        return "one_batch"

    def select(self, now: Round) -> np.ndarray:
        """See `Strategy.select`; asks all available clients, or K of them, for their loss."""
        asked, _ = self._asked(now)
        if len(asked) == 0:
            return asked
        return asked[self._included(*self._estimates_in(now, asked))[asked]]

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        """See `Strategy.weigh`; what clients reported to `select` enters the estimates."""
        asked, factor = self._asked(now)
        self.knowledge, self.loss_estimates = self._estimates_in(now, asked)
        arrived = ids[delivered]
        return Cohort(arrived, inverse_availability(self.p, self.knowledge.pi, arrived) * factor)

    def _asked(self, now: Round) -> tuple[np.ndarray, float]:
        rng = generator(self.seed, "selection", now.number)
        return uniform_part(np.flatnonzero(now.available & (self.p > 0)), now.feasible, rng)

    def _estimates_in(
        self, now: Round, asked: np.ndarray
    ) -> tuple[AvailabilityKnowledge, LossEstimates]:
        known, losses = self.knowledge.after(now.number, now.available), self.loss_estimates
        return known, losses.after(asked, now.losses(asked)) if len(asked) else losses

    def included(self) -> np.ndarray:
        """Returns who is included as things stand, available or not, `bool [N]` (lines 5-7)."""
        return self._included(self.knowledge, self.loss_estimates)

    def _included(self, known: AvailabilityKnowledge, estimates: LossEstimates) -> np.ndarray:
        weight = self.bias_factor * self.kappa2
        error = TotalError(self.p, estimates.gap, estimates.heterogeneity, weight)
        return included_clients(error, known.eigenvalue, known.pi, self.tau, strict=self.strict)

    def state(self) -> dict[str, np.ndarray]:
        """Returns the estimates of availability and losses."""
        parts = ((_AVAILABILITY, self.knowledge.state()), (_LOSSES, self.loss_estimates.state()))
        return {prefix + name: value for prefix, part in parts for name, value in part.items()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Takes back what `state` returned."""
        self.knowledge.restore(_part(state, _AVAILABILITY))
        self.loss_estimates.restore(_part(state, _LOSSES))


def _part(state: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {name[len(prefix) :]: state[name] for name in state if name.startswith(prefix)}
