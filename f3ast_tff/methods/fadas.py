"""FADAS (Wang et al., ICML 2024): a buffer, AMSGrad, and shorter steps after long delays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from f3ast_tff.methods.fedbuff import BufferedConfig, FedBuff
from f3ast_tff.methods.parts.algorithm import StrategyContext
from f3ast_tff.methods.parts.strategy import Strategy
from f3ast_tff.settings import parameter, register


class Fadas(FedBuff):
    """Delta = the mean of the buffered updates; the server's rate falls with the delay.

        eta_t = eta if tau_max <= tau_c, else eta / tau_max

    tau_max is the largest staleness among the updates that enter, in steps of the server. This is
    the rule of the released code. Descriptions of the paper have min(eta, 1 / tau_max) instead; at
    the code's eta of 0.001 that is eta up to tau_max = 1000.
    """

    method: ClassVar[str] = "fadas"

    def __init__(
        self,
        num_clients: int,
        buffer: int,
        threshold: int | None = 1,
        seed: int = 0,
        candidates: np.ndarray | None = None,
    ) -> None:
        """Starts before the server's first step.

        Args:
            num_clients: N.
            buffer: M, at least 1.
            threshold: tau_c; `None` keeps the rate constant (FADAS without delay adaptation).
            seed: Seed of the draws.
            candidates: See `Uniform`.
        """
        super().__init__(num_clients, buffer, "constant", seed, candidates)
        self.threshold = threshold

    def factor(self, longest: int) -> float:
        """Returns 1, or 1 / tau_max above the threshold."""
        if self.threshold is None or longest <= self.threshold:
            return 1.0
        return 1.0 / longest


@register(
    "algorithm",
    "fadas",
    "FADAS",
    about="FedBuff with equal weights, AMSGrad on the server, its rate over the longest delay",
    order=31,
)
@dataclass(frozen=True)
class FadasConfig(BufferedConfig):
    """Configuration of `Fadas`; tau_c is the released code's."""

    server_optimizer: ClassVar[str] = "amsgrad"

    fadas_tau_c: int = parameter(
        1, "tau_c, staleness above which the server's rate is divided by it", minimum=1
    )
    fadas_delay_adaptive: bool = parameter(True, "divide the server's rate after long delays")

    def build(self, world: StrategyContext) -> Strategy:
        threshold = self.fadas_tau_c if self.fadas_delay_adaptive else None
        n, with_data = world.num_clients, world.p > 0
        return Fadas(n, self.buffer_size, threshold, world.seed, with_data)
