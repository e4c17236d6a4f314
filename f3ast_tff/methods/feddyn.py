"""FedDyn (Acar et al., ICLR 2021): clients' penalties follow their gradients at the optimum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from f3ast_tff.methods.parts.memory import Client, ClientInit, RoundContext, Values
from f3ast_tff.methods.parts.method import MeanOfAvailable, method
from f3ast_tff.settings import parameter


@method(
    "feddyn",
    "FedDyn",
    about="clients' penalties follow their last gradients, and the server corrects by their "
    "average",
    order=34,
)
@dataclass(frozen=True)
class FedDyn(MeanOfAvailable):
    """lambda_k of every client, 0 at first, and h = sum_j p_j lambda_j.

        client k of S steps along g - lambda_k + alpha (w - w_t);   lambda_k -= alpha D_k
        server:  w_{t+1} = w_t + Delta - h / alpha, with h after this round's changes

    This is Algorithm 1 with p_j for its 1/m: its h -= (alpha / m) sum_{k in S} D_k is the mean of
    the lambda_k. A round in which Delta does not move the model leaves it as it is.
    """

    dyn_alpha: float = parameter(
        0.1, "alpha: clients add (alpha / 2) |w - w_t|^2 - <lambda_k, w> to their loss", above=0
    )

    vectors: ClassVar[Mapping[str, str]] = MappingProxyType({"gradient": "zero"})
    averages: ClassVar[tuple[str, ...]] = ("gradient",)

    def client(self, client: Client, server: Values, now: RoundContext) -> ClientInit:
        return ClientInit(offset=-client.kept["gradient"], pull=self.dyn_alpha)

    def after_client(
        self, client: Client, update: Any, server: Values, now: RoundContext
    ) -> Values:
        """See `Memory.after_client`: lambda_k is the gradient at the client's last model."""
        return {"gradient": client.kept["gradient"] - self.dyn_alpha * update}

    def end_round(self, server: Values, model: Any, now: RoundContext) -> tuple[Values, Any]:
        """See `Memory.end_round`: the model is moved by -h / alpha, except in an empty round."""
        moved = now.xp.any(model != now.model)
        return server, now.xp.where(
            moved, model - server["average_gradient"] / self.dyn_alpha, model
        )
