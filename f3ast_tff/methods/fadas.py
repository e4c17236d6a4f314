"""FADAS (Wang et al., ICML 2024): a buffer, AMSGrad, and shorter steps after long delays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.methods.fedbuff import Buffered
from f3ast_tff.methods.parts.algorithm import StrategyContext
from f3ast_tff.methods.parts.method import method
from f3ast_tff.settings import parameter


@method(
    "fadas",
    "FADAS",
    about="FedBuff with equal weights, AMSGrad on the server, its rate over the longest delay",
    order=31,
)
@dataclass(frozen=True)
class Fadas(Buffered):
    """Delta = the mean of the buffered updates; the server's rate falls with the delay.

        eta_t = eta if tau_max <= tau_c, else eta / tau_max (released code) or
        min(eta, 1 / tau_max) (paper)

    tau_max is the largest staleness among the updates that enter, in steps of the server. tau_c is
    the released code's. At the code's eta of 0.001 the paper's form is eta up to tau_max = 1000.
    """

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

    def first_state(self, world: StrategyContext) -> dict[str, Any]:
        if self.fadas_delayed_rate == "capped" and world.server_lr is None:
            allowed = "must be divided on a server of one's own, whose rate is not known here"
            raise ParameterError("fadas_delayed_rate", self.fadas_delayed_rate, allowed)
        return super().first_state(world)

    def factor(self, longest: int) -> float:
        """Returns eta_t / eta."""
        if not self.fadas_delay_adaptive or longest <= self.fadas_tau_c:
            return 1.0
        if self.fadas_delayed_rate == "divided":
            return 1.0 / longest
        eta = self.world.server_lr
        assert eta is not None
        return min(1.0, 1.0 / (eta * longest))
