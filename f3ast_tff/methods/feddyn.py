"""FedDyn (Acar et al., ICLR 2021): clients' penalties follow their gradients at the optimum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from f3ast_tff.methods.parts.aggregation import SumOrMean
from f3ast_tff.methods.parts.all_available import AllAvailableConfig
from f3ast_tff.methods.parts.memory import Client, ClientInit, Memory, RoundContext, Values
from f3ast_tff.settings import parameter, register


@dataclass(frozen=True)
class DynamicPenalties(Memory):
    """lambda_k of every client, 0 at first, and h = sum_j p_j lambda_j.

        client k of S steps along g - lambda_k + alpha (w - w_t);   lambda_k -= alpha D_k
        server:  w_{t+1} = w_t + Delta - h / alpha, with h after this round's changes

    This is Algorithm 1 with p_j for its 1/m: its h -= (alpha / m) sum_{k in S} D_k is the mean of
    the lambda_k. A round in which Delta does not move the model leaves it as it is.

    Attributes:
        alpha: Above 0.
    """

    alpha: float

    vectors: ClassVar[Mapping[str, str]] = MappingProxyType({"gradient": "zero"})
    averages: ClassVar[tuple[str, ...]] = ("gradient",)

    def client(self, client: Client, server: Values, now: RoundContext) -> ClientInit:
        return ClientInit(offset=-client.kept["gradient"], pull=self.alpha)

    def after_client(
        self, client: Client, update: Any, server: Values, now: RoundContext
    ) -> Values:
        """See `Memory.after_client`: lambda_k is the gradient at the client's last model."""
        return {"gradient": client.kept["gradient"] - self.alpha * update}

    def end_round(self, server: Values, model: Any, now: RoundContext) -> tuple[Values, Any]:
        """See `Memory.end_round`: the model is moved by -h / alpha, except in an empty round."""
        moved = now.xp.any(model != now.model)
        return server, now.xp.where(moved, model - server["average_gradient"] / self.alpha, model)


@register(
    "aggregation",
    "feddyn",
    "FedDyn",
    about="clients' penalties follow their last gradients; the server corrects by their average",
    order=14,
)
@dataclass(frozen=True)
class FedDyn(SumOrMean):
    """The weighted sum or mean of updates, with `DynamicPenalties`."""

    dyn_alpha: float = parameter(
        0.1, "alpha: clients add (alpha / 2) |w - w_t|^2 - <lambda_k, w> to their loss", above=0
    )

    @property
    def memory(self) -> DynamicPenalties:
        return DynamicPenalties(self.dyn_alpha)


@register(
    "algorithm",
    "feddyn",
    "FedDyn",
    about="mean over all available clients (or K of them), whose penalties follow their gradients",
    order=34,
)
@dataclass(frozen=True)
class FedDynConfig(AllAvailableConfig):
    """Configuration of `AllAvailable` with FedDyn's penalties: a mean with weights p_k."""

    aggregation: ClassVar[str] = "feddyn"
