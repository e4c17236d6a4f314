"""An aggregation that changes local training: FedDyn, whose penalties follow clients' gradients.

f3ast-tff run --plugin=drifting_penalty.py --aggregation=drifting_penalty --penalty_alpha=0.1
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from f3ast_tff.methods.parts.aggregation import SumOrMean
from f3ast_tff.methods.parts.memory import Client, ClientInit, Memory, RoundContext, Values
from f3ast_tff.settings import parameter, register


@dataclass(frozen=True)
class Penalties(Memory):
    """Client k steps along g - lambda_k + alpha (w - w_t); then lambda_k falls by alpha D_k.

    The server moves the mean of the trained models by - sum_j p_j lambda_j / alpha.

    Attributes:
        alpha: Weight of the penalty, above 0.
    """

    alpha: float

    vectors: ClassVar[Mapping[str, str]] = {"gradient": "zero"}
    averages: ClassVar[tuple[str, ...]] = ("gradient",)

    def client(self, client: Client, server: Values, now: RoundContext) -> ClientInit:
        """Returns the penalty's gradient: - lambda_k, and the pull to the model that was sent."""
        return ClientInit(offset=-client.kept["gradient"], pull=self.alpha)

    def after_client(
        self, client: Client, update: Any, server: Values, now: RoundContext
    ) -> Values:
        """Returns the client's gradient at the model where it stopped."""
        return {"gradient": client.kept["gradient"] - self.alpha * update}

    def end_round(self, server: Values, model: Any, now: RoundContext) -> tuple[Values, Any]:
        """Returns the server's values, and the moved model; an empty round leaves the model."""
        moved = now.xp.any(model != now.model)
        shifted = model - server["average_gradient"] / self.alpha
        return server, now.xp.where(moved, shifted, model)


@register(
    "aggregation",
    "drifting_penalty",
    "Drifting penalty",
    about="penalties follow clients' gradients",
)
@dataclass(frozen=True)
class DriftingPenalty(SumOrMean):
    """Parameters of this aggregation."""

    penalty_alpha: float = parameter(0.1, "weight of the penalty alpha", above=0)

    @property
    def memory(self) -> Penalties:
        """Rules of the memory."""
        return Penalties(self.penalty_alpha)
