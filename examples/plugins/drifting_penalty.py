"""A method that changes local training: FedDyn, whose penalties follow clients' gradients.

f3ast-tff run --plugin=drifting_penalty.py --algorithm=drifting_penalty --penalty_alpha=0.1
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from f3ast_tff.methods.parts.memory import Client, ClientInit, RoundContext, Values
from f3ast_tff.methods.parts.method import MeanOfAvailable, method
from f3ast_tff.settings import parameter


@method("drifting_penalty", "Drifting penalty", about="penalties follow clients' gradients")
@dataclass(frozen=True)
class DriftingPenalty(MeanOfAvailable):
    """Client k steps along g - lambda_k + alpha (w - w_t); then lambda_k falls by alpha D_k.

    The server moves the mean of the trained models by - sum_j p_j lambda_j / alpha.
    """

    vectors: ClassVar[Mapping[str, str]] = {"gradient": "zero"}
    averages: ClassVar[tuple[str, ...]] = ("gradient",)

    penalty_alpha: float = parameter(0.1, "weight of the penalty alpha", above=0)

    def client(self, client: Client, server: Values, now: RoundContext) -> ClientInit:
        """Returns the penalty's gradient: - lambda_k, and the pull to the model that was sent."""
        return ClientInit(offset=-client.kept["gradient"], pull=self.penalty_alpha)

    def after_client(
        self, client: Client, update: Any, server: Values, now: RoundContext
    ) -> Values:
        """Returns the client's gradient at the model where it stopped."""
        return {"gradient": client.kept["gradient"] - self.penalty_alpha * update}

    def end_round(self, server: Values, model: Any, now: RoundContext) -> tuple[Values, Any]:
        """Returns the server's values, and the moved model; an empty round leaves the model."""
        moved = now.xp.any(model != now.model)
        shifted = model - server["average_gradient"] / self.penalty_alpha
        return server, now.xp.where(moved, shifted, model)
