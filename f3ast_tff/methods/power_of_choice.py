"""Power-of-Choice (Cho et al. 2020): trains the K of d candidates with the highest loss."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from f3ast_tff.core.choosing import draw_by_weight, ranked
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.methods.fedavg import require_a_number
from f3ast_tff.methods.parts.algorithm import StrategyContext, has_byte_budget, require
from f3ast_tff.methods.parts.method import method
from f3ast_tff.methods.parts.selecting_method import RenewedMethod, takes_old_arguments
from f3ast_tff.methods.parts.strategy import Cohort, Losses, Round
from f3ast_tff.settings import Reading, parameter
from f3ast_tff.settings.configuration import Settings


@takes_old_arguments
@method(
    "poc",
    "Power-of-Choice",
    about="asks d candidates for their losses and trains the K of highest loss",
    order=7,
    step_scale=1,
)
@dataclass(frozen=True)
class PowerOfChoice(RenewedMethod):
    """Draws d available candidates by p_k and trains the K of highest current loss (Sec. IV-c).

    Only the candidates are asked for their loss. The weights are meant for a mean. With
    replacement a client drawn twice may train twice.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import PowerOfChoice, Round, RoundConstraint
        >>> losses, there = np.array([0.2, 1.5, 0.9, 3.0]), np.array([True, True, True, False])
        >>> now = Round(1, there, RoundConstraint(2), lambda ids: losses[ids])
        >>> PowerOfChoice.start(np.full(4, 0.25), k=2, poc_candidates=3).select(now).tolist()
        [1, 2]
    """

    needs_losses: ClassVar[bool] = True
    aggregation: ClassVar[str] = "mean"

    poc_candidates: int = parameter(30, "d, candidates of Power-of-Choice", minimum=1)
    poc_pool: str = parameter(
        Reading("R10", "without_replacement", "with_replacement"),
        "Power-of-Choice draws its candidates by p_k",
        choices=("without_replacement", "with_replacement"),
    )
    poc_loss: str = parameter(
        Reading("R10", "mean", "training_loss"),
        "Power-of-Choice ranks by the mean loss of a client's examples; or by the sum over its "
        "examples of the losses met as it trains, plus their number",
        choices=("mean", "training_loss"),
    )
    poc_average: str = parameter(
        Reading("R10", "plain", "examples"),
        "Power-of-Choice averages by",
        choices=("plain", "examples"),
    )
    poc_clip_norm: float = parameter(
        Reading("R18", 0.0, 1.0), "gradient norm limit in Power-of-Choice, 0 for none", minimum=0
    )

    def build(self, world: StrategyContext) -> PowerOfChoice:
        # A mean such as 1.1 x 10 exceeds 11 by rounding.
        self._check_candidates(
            math.ceil(world.constraint.mean_k - 1e-9), "the mean of the asked K_t"
        )
        if self._replaces:
            require_a_number(world, "poc_pool", self.poc_pool, "without_replacement")
        return super().build(world)

    @property
    def _replaces(self) -> bool:
        return self.poc_pool == "with_replacement"

    @property
    def client_loss(self) -> str:
        return self.poc_loss

    @property
    def may_select(self) -> frozenset[str]:
        return frozenset({"repeated"} if self._replaces else ())

    def select(self, now: Round) -> np.ndarray:
        """The constraint admits candidates, highest loss first.

        Minimum picks of a group are met as far as its clients are among the candidates.

        Raises:
            ValueError: If candidates are drawn with replacement and the constraint is more than a
                number.
        """
        if self._replaces and not now.constraint.counts_only:
            raise ValueError("sampling with replacement knows no constraint but the number")
        rng = now.generator(self.seed)
        reachable = np.flatnonzero(now.available)
        pool = draw_by_weight(reachable, self.p, self.poc_candidates, rng, replace=self._replaces)
        if len(pool) == 0:
            return pool
        reported = self._losses(pool, now.losses)
        # A client without a loss comes last; NaN would have no order.
        reported[np.isnan(reported)] = -np.inf
        return now.constraint.admit(pool[ranked(np.arange(len(pool)), reported, rng)])

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        if self.poc_average == "plain":
            return super().weigh(now, ids, delivered)
        return Cohort(ids[delivered], self.world.sizes[ids[delivered]].astype(np.float64))

    def _losses(self, pool: np.ndarray, losses: Losses) -> np.ndarray:
        asked = pool
        if self._replaces:
            asked, places = np.unique(pool, return_inverse=True)
        reported = np.array(losses(asked), np.float64)
        if self.poc_loss == "training_loss":
            reported += self.world.sizes[asked]
        return reported[places] if self._replaces else reported

    @property
    def client_clip_norm(self) -> float | None:
        return self.poc_clip_norm or None

    def check(self, settings: Settings) -> None:
        if settings.clients_per_round is not None:
            self._check_candidates(settings.clients_per_round, "clients_per_round")
        if has_byte_budget(settings.constraint):
            when = "under a budget in bytes"
            require("poc_pool", self.poc_pool, "without_replacement", when)
        if settings.is_late:
            require("poc_loss", self.poc_loss, "mean", f"with delivery={settings.delivery}")

    def _check_candidates(self, k: int, what: str) -> None:
        if self.poc_candidates < k:
            allowed = f"must be at least {what}, {k}"
            raise ParameterError("poc_candidates", self.poc_candidates, allowed)
