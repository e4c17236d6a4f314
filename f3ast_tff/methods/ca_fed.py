"""CA-Fed (Rodio et al. 2024), Algorithm 1: exclude rare and correlated clients while it pays."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.methods.parts.algorithm import StrategyContext, require
from f3ast_tff.methods.parts.availability_knowledge import AvailabilityKnowledge
from f3ast_tff.methods.parts.loss_estimates import LossEstimates, trained_minima
from f3ast_tff.methods.parts.method import method
from f3ast_tff.methods.parts.selecting_method import takes_old_arguments
from f3ast_tff.methods.parts.strategy import Cohort, Round
from f3ast_tff.methods.unbiased import FollowsAvailability, inverse_availability
from f3ast_tff.models import SoftmaxRegression
from f3ast_tff.settings import Reading, parameter
from f3ast_tff.settings.configuration import Settings

# A remainder of 1 below this may be rounding error of subtractions, so it is summed anew.
_SMALL = 1e-6


@dataclass(frozen=True)
class TotalError:
    """The estimated error of eq. (20) as a function of the included clients.

    Algorithm 1 has weights q_k = alpha_k / pi_k for included clients and 0 for excluded ones, so
    pi_k q_k is alpha_k or 0. Let A be the sum of alpha_k over included clients. Their biased
    importance is alpha_k / A. Its total variation distance from alpha is 1 - A, the excluded
    importance. Hence

        error = (sum of alpha_k (F_k - F*_k) over included clients) / A + w (1 - A)^2 Gamma'

    and the effect of excluding a client takes constant time to compute. The error does not depend
    on pi.

    Attributes:
        importance: alpha_k, at least 0, of sum 1, `float64 [N]`.
        gap: F_k - F*_k, `float64 [N]`.
        heterogeneity: Gamma', at least 0.
        bias_weight: w, 4 kappa^2 in the paper, kappa^2 in the released code; at least 0.
    """

    importance: np.ndarray
    gap: np.ndarray
    heterogeneity: float
    bias_weight: float


def exclude(
    error: TotalError, included: np.ndarray, order: np.ndarray, tau: float, *, strict: bool
) -> np.ndarray:
    """Goes through the clients once and excludes each whose exclusion lowers the error enough.

    Each trial leaves out one more client than excluded so far. If the error does not fall enough,
    the client stays. The last client of positive importance is never excluded, because the error
    would be 0 / 0 (Algorithm 1 does not cover this case; the released code does the same).

    Args:
        error: The error.
        included: Clients included at first, `bool [N]`; clients of importance 0 are dropped.
        order: All ids in the order of trial, `int [N]`.
        tau: Least fall of the error, at least 0.
        strict: Whether the error must fall by more than tau (Sec. IV-A), or by at least tau (line
            19, and the released code). The two differ if the error stays the same: with `tau` 0
            and all gaps 0, as in the first round with running minima, "at least" excludes every
            client except one.

    Returns:
        The included clients, `bool [N]`.
    """
    included = included & (error.importance > 0)
    left = int(np.count_nonzero(included))
    inside = float(error.importance[included].sum())
    outside = float(error.importance[~included].sum())
    weighted = error.importance * error.gap
    gaps = float(weighted[included].sum())
    bias = error.bias_weight * error.heterogeneity
    current = gaps / inside + bias * outside**2 if left else 0.0

    # Plain floats, because indexing arrays one by one would take most of the time.
    importance, weighted_gap = error.importance.tolist(), weighted.tolist()
    for k in order[included[order]].tolist():
        if left == 1:
            break
        fewer, less = inside - importance[k], gaps - weighted_gap[k]
        if fewer < _SMALL:
            fewer, less = _sums_without(k, included, error.importance, weighted)
        more = outside + importance[k]
        tried = less / fewer + bias * more**2
        fall = current - tried
        if fall > tau or (fall == tau and not strict):
            included[k] = False
            left -= 1
            inside, outside, gaps, current = fewer, more, less, tried
    return included


def _sums_without(
    k: int, included: np.ndarray, importance: np.ndarray, weighted: np.ndarray
) -> tuple[float, float]:
    others = included.copy()
    others[k] = False
    return float(importance[others].sum()), float(weighted[others].sum())


def included_clients(
    error: TotalError, eigenvalue: np.ndarray, pi: np.ndarray, tau: float, *, strict: bool
) -> np.ndarray:
    """Returns the clients included by lines 5-7, tried by descending lambda, then ascending pi.

    Args:
        error: The error.
        eigenvalue: lambda_k, `float [N]`; sorted by modulus, as in eq. (5) and the released code.
        pi: pi_k, `float [N]`.
        tau: See `exclude`.
        strict: See `exclude`.

    Returns:
        The included clients, `bool [N]`. Clients with equal lambda_k or pi_k are tried in the
        order of their ids, as in the released code.
    """
    everybody = np.ones(len(pi), bool)
    by_correlation = np.argsort(-np.abs(eigenvalue), kind="stable")
    included = exclude(error, included=everybody, order=by_correlation, tau=tau, strict=strict)
    return exclude(error, included, np.argsort(pi, kind="stable"), tau, strict=strict)


@takes_old_arguments
@method(
    "ca_fed",
    "CA-Fed",
    about="excludes rare and correlated clients while the estimated error falls",
    order=11,
    corrects=MappingProxyType({"algorithm": "adafed"}),
)
@dataclass(frozen=True)
class CAFed(FollowsAvailability):
    """Selection and weights of Algorithm 1.

    In each round the available clients report their loss (line 3) and the estimates move (line 4).
    Then every client, available or not, is tried for exclusion (lines 5-7). The included clients
    that are available train, with weights q_k = p_k / pi_k for a SUM.

    If more than K clients are available, K of them are first drawn uniformly, and only these report
    (App. H2), so the server talks to at most K clients. Their weights grow accordingly (see
    `uniform_part`), which the appendix does not mention. A larger kappa^2 excludes fewer clients
    (Sec. IV-C).

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.methods import Round, RoundConstraint, cohort_of
        >>> from f3ast_tff.methods.ca_fed import CAFed
        >>> strategy = CAFed.start([0.45, 0.45, 0.1], k=3, availability_knowledge="estimated")
        >>> for t, losses in enumerate(np.array([[2.0, 2.0, 2.0], [1.0, 1.0, 3.0]]), 1):
        ...     now = Round(t, np.ones(3, bool), RoundConstraint(3), lambda ids: losses[ids])
        ...     cohort = cohort_of(strategy, now)
        >>> cohort.ids.tolist()  # Without client 2 the rest converges faster.
        [0, 1]
    """

    knowledge_prefix: ClassVar[str] = "availability_"
    needs_eigenvalue: ClassVar[bool] = True
    needs_losses: ClassVar[bool] = True

    kappa2: float = parameter(1.0, "weight of bias against slow convergence", minimum=0)
    tau: float = parameter(0.0, "least fall of the error for an exclusion", minimum=0)
    loss_beta: float = parameter(1.0, "weight of a new loss", above=0, maximum=1)
    loss_minima: str = parameter(
        Reading("R20", paper="running", released="running", ca_fed="trained"),
        "F*_k is the least loss so far, or that of softmax regression trained on the client's "
        "data alone",
        choices=("running", "trained"),
    )
    ca_fed_bias: str = parameter(
        Reading("R20", paper="paper", released="paper", ca_fed="released"),
        "eq. (16) with factor 4 and a fall of more than tau; or the released code's factor 1 and "
        "at least tau",
        choices=("paper", "released"),
    )

    def first_state(self, world: StrategyContext) -> dict[str, Any]:
        """Returns the knowledge of availability, and the estimates of F_k, F*_k and Gamma'."""
        losses = LossEstimates(world.num_clients, self.loss_beta, minima=self._minima(world))
        return {**super().first_state(world), "losses_": losses}

    @property
    def loss_estimates(self) -> LossEstimates:
        """The estimates of F_k, F*_k and Gamma', moved by every round."""
        found: LossEstimates = self.kept["losses_"]
        return found

    @property
    def bias_factor(self) -> float:
        """Factor of kappa^2 in eq. (16)."""
        return 4.0 if self.strict else 1.0

    @property
    def strict(self) -> bool:
        """Whether the error must fall by more than tau, or by at least tau; see `exclude`."""
        return self.ca_fed_bias == "paper"

    @property
    def client_loss(self) -> str:
        """Line 3 of Algorithm 1."""
        return "one_batch"

    def select(self, now: Round) -> np.ndarray:
        """Asks all available clients, or K of them, for their loss."""
        asked, _ = self._drawn(now, self.p > 0)
        if len(asked) == 0:
            return asked
        return asked[self._included(self._known_in(now), self._losses_in(now, asked))[asked]]

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        """The losses reported to `select` enter the estimates."""
        asked, factor = self._drawn(now, self.p > 0)
        known = self._learn_in(now)
        self.kept["losses_"] = self._losses_in(now, asked)
        weights = inverse_availability(self.p, known.pi, ids[delivered])
        return Cohort(ids[delivered], weights * factor)

    def _losses_in(self, now: Round, asked: np.ndarray) -> LossEstimates:
        losses = self.loss_estimates
        return losses.after(asked, now.losses(asked)) if len(asked) else losses

    def included(self) -> np.ndarray:
        """Returns the clients included by the current estimates, `bool [N]` (lines 5-7).

        They need not be available.
        """
        return self._included(self.knowledge, self.loss_estimates)

    def _included(self, known: AvailabilityKnowledge, estimates: LossEstimates) -> np.ndarray:
        weight = self.bias_factor * self.kappa2
        error = TotalError(self.p, estimates.gap, estimates.heterogeneity, weight)
        return included_clients(error, known.eigenvalue, known.pi, self.tau, strict=self.strict)

    def check(self, settings: Settings) -> None:
        if self.loss_minima == "trained":
            require("model", settings.model, "softmax_regression", "with loss_minima=trained")
            if not settings.ridge > 0:
                allowed = "must be above 0 with loss_minima=trained"
                raise ParameterError("ridge", settings.ridge, allowed)

    def _minima(self, world: StrategyContext) -> np.ndarray | None:
        if self.loss_minima == "running":
            return None
        if not isinstance(world.model, SoftmaxRegression):
            allowed = f"must be running for {type(world.model).__name__}"
            raise ParameterError("loss_minima", self.loss_minima, allowed)
        return trained_minima(world.model, world.preprocessing, world.train)
