"""FedDC (Gao et al., CVPR 2022): clients are pulled back by their drift, which the server adds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from f3ast_tff.methods.parts.memory import Client, ClientInit, RoundContext, Values
from f3ast_tff.methods.parts.method import MeanOfAvailable, method
from f3ast_tff.methods.scaffold import mean_gradient
from f3ast_tff.settings import parameter


@method(
    "feddc",
    "FedDC",
    about="clients are pulled back by their drift, which the server adds to their models",
    order=38,
)
@dataclass(frozen=True)
class FedDC(MeanOfAvailable):
    """h_k, the drift of client k, and m_k, the mean of its last steps; 0 at first.

        client k of S steps along g + alpha (h_k + w - w_t) + m - m_k,   m = sum_j p_j m_j
        h_k += D_k
        released:  m_k += -m - D_k / (steps x rate), the mean of g + alpha (h_k + w - w_t)
                   w_{t+1} = mean over S of (w_t + D_k) + sum_j p_j h_j, over all N clients
        paper:     m_k = -D_k / (steps x rate)
                   w_{t+1} = mean over S of (w_t + D_k + h_k)

    The drifts h are those after this round, and p_j stands for 1/N. `released` is the authors'
    code, of which their scores are, also with 15 of 100 clients: absent clients keep h_k and m_k,
    which stay in both averages. (The code divides alpha, and m, by N p_k too, which is 1 for
    clients of equal p_k.) `paper` has the paper's equations, with the linear term <w, g_k - g> /
    (rate x steps) of the last update g_k of client k and the mean g of the last updates of all N
    clients: an absent client stays in it with the update of its last round. There drifts are
    averaged over the clients of the round, so that the model rests for any S only if all drifts
    are 0. A round in which Delta does not move the model leaves it as it is.
    """

    feddc_alpha: float = parameter(
        0.01, "alpha: clients add (alpha / 2) |h_k + w - w_t|^2 to their loss", minimum=0
    )
    feddc_form: str = parameter(
        "released",
        "released: the server adds the drifts of all clients, and controls are SCAFFOLD's, as in "
        "the authors' code; paper: the drifts of the round's clients, and their last updates",
        choices=("released", "paper"),
    )

    vectors: ClassVar[Mapping[str, str]] = MappingProxyType({"drift": "zero", "step": "zero"})
    averages: ClassVar[tuple[str, ...]] = ("drift", "step")
    reads_gradients: ClassVar[bool] = True
    # Down: the model and m. Up: the update, and the change of m_k or the drift.
    vectors_down: ClassVar[int] = 2
    vectors_up: ClassVar[int] = 2

    @property
    def _released(self) -> bool:
        return self.feddc_form == "released"

    def client(self, client: Client, server: Values, now: RoundContext) -> ClientInit:
        """In the paper's form the client sends 2 D_k + h_k: D_k, and the drift after this round."""
        drift, step = client.kept["drift"], client.kept["step"]
        offset = self.feddc_alpha * drift + server["average_step"] - step
        start = ClientInit(offset=offset, pull=self.feddc_alpha)
        return start if self._released else start._replace(scale=2.0, shift=drift)

    def after_client(
        self, client: Client, update: Any, server: Values, now: RoundContext
    ) -> Values:
        """A client without any step keeps its last one."""
        before, step = client.kept["step"], mean_gradient(update, client.steps, now)
        if self._released:
            step = before - server["average_step"] + step
        return {
            "drift": client.kept["drift"] + update,
            "step": now.xp.where(client.steps > 0, step, before),
        }

    def end_round(self, server: Values, model: Any, now: RoundContext) -> tuple[Values, Any]:
        """The released code moves the model by the average drift, except in an empty round."""
        if not self._released:
            return server, model
        moved = now.xp.any(model != now.model)
        return server, now.xp.where(moved, model + server["average_drift"], model)
