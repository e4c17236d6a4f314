"""CA-Fed (Rodio et al. 2024), Algorithm 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.algorithms.algorithm import World, require
from f3ast_tff.algorithms.shared import KnowledgeConfig
from f3ast_tff.components import Reading, parameter, register
from f3ast_tff.errors import ParameterError
from f3ast_tff.estimation import LossEstimates, trained_minima
from f3ast_tff.models import SoftmaxRegression
from f3ast_tff.selection import CAFed, Strategy


@register(
    "algorithm",
    "ca_fed",
    "CA-Fed",
    about="excludes rare and correlated clients while the estimated error falls",
    order=11,
)
@dataclass(frozen=True)
class CAFedConfig(KnowledgeConfig):
    """Configuration of `CAFed`."""

    corrects: ClassVar[Mapping[str, str]] = MappingProxyType({"algorithm": "adafed"})

    kappa2: float = parameter(1.0, "weight of bias against slow convergence", minimum=0)
    tau: float = parameter(0.0, "least fall of the error for an exclusion", minimum=0)
    loss_beta: float = parameter(1.0, "weight of a new loss", above=0, maximum=1)
    loss_minima: str = parameter(
        "running",
        "F*_k is the least loss so far, or that of softmax regression trained on the client's "
        "data alone",
        choices=("running", "trained"),
    )
    ca_fed_bias: str = parameter(
        Reading("R20", "paper", "paper", "released"),
        "eq. (16) with factor 4 and a fall of more than tau; or the released code's factor 1 and "
        "at least tau",
        choices=("paper", "released"),
    )

    def build(self, world: World) -> Strategy:
        """See `AlgorithmConfig.build`."""
        as_printed = self.ca_fed_bias == "paper"
        return CAFed(
            world.p,
            self.knowledge(world, with_eigenvalue=True),
            LossEstimates(world.num_clients, self.loss_beta, minima=self._minima(world)),
            self.kappa2,
            self.tau,
            bias_factor=4.0 if as_printed else 1.0,
            strict=as_printed,
            seed=world.seed,
        )

    @property
    def client_loss(self) -> str:
        """See `AlgorithmConfig.client_loss`: line 3 of Algorithm 1."""
        return "one_batch"

    def check(self, settings: Mapping[str, Any]) -> None:
        """See `AlgorithmConfig.check`."""
        if self.loss_minima == "trained":
            require(settings, "model", "softmax_regression", "with loss_minima=trained")
            if not settings["ridge"] > 0:
                allowed = "must be above 0 with loss_minima=trained"
                raise ParameterError("ridge", settings["ridge"], allowed)

    def _minima(self, world: World) -> np.ndarray | None:
        if self.loss_minima == "running":
            return None
        if not isinstance(world.model, SoftmaxRegression):
            allowed = f"must be running for {type(world.model).__name__}"
            raise ParameterError("loss_minima", self.loss_minima, allowed)
        return trained_minima(world.model, world.preprocessing, world.train)
