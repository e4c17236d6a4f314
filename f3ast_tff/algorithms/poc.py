"""Power-of-Choice (Cho et al. 2020)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.algorithms.algorithm import (
    AlgorithmConfig,
    World,
    has_byte_budget,
    require,
    require_a_number,
)
from f3ast_tff.components import Reading, parameter, register
from f3ast_tff.errors import ParameterError
from f3ast_tff.selection import PowerOfChoice, Strategy


@register(
    "algorithm",
    "poc",
    "Power-of-Choice",
    about="asks d candidates for their losses and trains the K of highest loss",
    order=7,
)
@dataclass(frozen=True)
class PowerOfChoiceConfig(AlgorithmConfig):
    """Configuration of `PowerOfChoice`."""

    aggregation: ClassVar[str] = "mean"

    poc_candidates: int = parameter(30, "d, candidates of Power-of-Choice", minimum=1)
    poc_pool: str = parameter(
        Reading("R10", "without_replacement", "with_replacement"),
        "Power-of-Choice draws its candidates by p_k",
        choices=("without_replacement", "with_replacement"),
    )
    poc_loss: str = parameter(
        Reading("R10", "mean", "met_in_training"),
        "Power-of-Choice ranks by the mean loss of a client's examples; or by the sum over its "
        "examples of the losses met as it trains, plus their number",
        choices=("mean", "met_in_training"),
    )
    poc_average: str = parameter(
        Reading("R10", "plain", "examples"),
        "Power-of-Choice averages by",
        choices=("plain", "examples"),
    )
    poc_clip_norm: float = parameter(
        Reading("R18", 0.0, 1.0),
        "gradient norm limit in Power-of-Choice, 0 for none",
        minimum=0,
    )

    def build(self, world: World) -> Strategy:
        """See `AlgorithmConfig.build`."""
        # A mean such as 1.1 x 10 is off by rounding.
        self._check_candidates(math.ceil(world.constraint.mean_k - 1e-9), "the mean of K_t")
        n_k = world.sizes.astype(np.float64)
        replace = self.poc_pool == "with_replacement"
        if replace:
            require_a_number(world, "poc_pool", self.poc_pool, "without_replacement")
        return PowerOfChoice(
            world.p,
            self.poc_candidates,
            world.seed,
            replace=replace,
            added=n_k if self.poc_loss == "met_in_training" else None,
            average_weights=n_k if self.poc_average == "examples" else None,
        )

    @property
    def client_loss(self) -> str:
        """See `AlgorithmConfig.client_loss`."""
        return self.poc_loss

    @property
    def client_clip_norm(self) -> float | None:
        """See `AlgorithmConfig.client_clip_norm`."""
        return self.poc_clip_norm or None

    def check(self, settings: Mapping[str, Any]) -> None:
        """See `AlgorithmConfig.check`."""
        if settings.get("clients_per_round") is not None:
            self._check_candidates(settings["clients_per_round"], "clients_per_round")
        if has_byte_budget(settings):
            require(settings, "poc_pool", "without_replacement", "under a budget in bytes")

    def _check_candidates(self, k: int, what: str) -> None:
        if self.poc_candidates < k:
            allowed = f"must be at least {what}, {k}"
            raise ParameterError("poc_candidates", self.poc_candidates, allowed)
