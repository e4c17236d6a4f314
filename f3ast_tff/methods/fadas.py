"""FADAS (Wang et al., ICML 2024): a buffer, AMSGrad, and shorter steps after long delays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.methods.fedbuff import BufferedConfig, FedBuff
from f3ast_tff.methods.parts.algorithm import StrategyContext
from f3ast_tff.methods.parts.strategy import Strategy
from f3ast_tff.settings import parameter, register


class Fadas(FedBuff):
    """Delta = the mean of the buffered updates; the server's rate falls with the delay.

        eta_t = eta if tau_max <= tau_c, else eta / tau_max (released code) or
        min(eta, 1 / tau_max) (paper)

    tau_max is the largest staleness among the updates that enter, in steps of the server. At the
    code's eta of 0.001 the paper's form is eta up to tau_max = 1000.
    """

    method: ClassVar[str] = "fadas"

    def __init__(
        self,
        num_clients: int,
        buffer: int,
        threshold: int | None = 1,
        seed: int = 0,
        candidates: np.ndarray | None = None,
        capped_rate: float | None = None,
    ) -> None:
        """Starts before the server's first step.

        Args:
            num_clients: N.
            buffer: M, at least 1.
            threshold: tau_c; `None` keeps the rate constant (FADAS without delay adaptation).
            seed: Seed of the draws.
            candidates: See `Uniform`.
            capped_rate: eta, for the paper's form; `None` for the released code's.
        """
        super().__init__(num_clients, buffer, "constant", seed, candidates)
        self.threshold, self.capped_rate = threshold, capped_rate

    def factor(self, longest: int) -> float:
        """Returns eta_t / eta."""
        if self.threshold is None or longest <= self.threshold:
            return 1.0
        if self.capped_rate is None:
            return 1.0 / longest
        return min(1.0, 1.0 / (self.capped_rate * longest))


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
        1, "tau_c, staleness above which the server's rate is lowered", minimum=1
    )
    fadas_delay_adaptive: bool = parameter(True, "lower the server's rate after long delays")
    fadas_delayed_rate: str = parameter(
        "divided",
        "the server's rate eta after a delay tau: eta / tau (released code), or min(eta, 1 / tau) "
        "(paper)",
        choices=("divided", "capped"),
    )

    def build(self, world: StrategyContext) -> Strategy:
        threshold = self.fadas_tau_c if self.fadas_delay_adaptive else None
        eta = None
        if self.fadas_delayed_rate == "capped":
            eta = world.server_lr
            if eta is None:
                allowed = "must be divided on a server of one's own, whose rate is not known here"
                raise ParameterError("fadas_delayed_rate", self.fadas_delayed_rate, allowed)
        n, with_data = world.num_clients, world.p > 0
        return Fadas(n, self.buffer_size, threshold, world.seed, with_data, eta)
