"""FedDC (Gao et al., CVPR 2022): clients are pulled back by their drift, which the server adds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from f3ast_tff.methods.parts.aggregation import SumOrMean
from f3ast_tff.methods.parts.all_available import AllAvailableConfig
from f3ast_tff.methods.parts.memory import Client, ClientInit, Memory, RoundContext, Values
from f3ast_tff.methods.scaffold import mean_gradient
from f3ast_tff.settings import parameter, register


@dataclass(frozen=True)
class Drifts(Memory):
    """h_k, the drift of client k, and m_k, the mean of its last steps; 0 at first.

        client k of S steps along g + alpha (h_k + w - w_t) + m - m_k,   m = sum_j p_j m_j
        h_k += D_k;   m_k = -D_k / (steps x rate)
        server:  w_{t+1} = mean over S of (w_t + D_k + h_k), with h_k after this round

    These are the paper's equations with p_j for 1/N. Their linear term <w, g_k - g> / (rate x
    steps) has g_k, the last update of client k, and g, the mean of the last updates of all N
    clients: an absent client stays in it with the update of its last round. Drifts are averaged
    over the clients of the round, so that the model rests for any S only if all drifts are 0.

    Attributes:
        alpha: At least 0.
    """

    alpha: float

    vectors: ClassVar[Mapping[str, str]] = MappingProxyType({"drift": "zero", "step": "zero"})
    averages: ClassVar[tuple[str, ...]] = ("step",)
    reads_gradients: ClassVar[bool] = True
    # Down: the model and m. Up: the model with the drift, and the update.
    vectors_down: ClassVar[int] = 2
    vectors_up: ClassVar[int] = 2

    def client(self, client: Client, server: Values, now: RoundContext) -> ClientInit:
        """The client sends 2 D_k + h_k, which is D_k and the drift after this round."""
        drift = client.kept["drift"]
        return ClientInit(
            offset=self._offset(client, server), pull=self.alpha, scale=2.0, shift=drift
        )

    def after_client(
        self, client: Client, update: Any, server: Values, now: RoundContext
    ) -> Values:
        """A client without any step keeps its last one."""
        step = now.xp.where(
            client.steps > 0, mean_gradient(update, client.steps, now), client.kept["step"]
        )
        return {"drift": client.kept["drift"] + update, "step": step}

    def _offset(self, client: Client, server: Values) -> Any:
        return self.alpha * client.kept["drift"] + server["average_step"] - client.kept["step"]


@dataclass(frozen=True)
class ReleasedDrifts(Drifts):
    """`Drifts` as in the authors' code: SCAFFOLD's controls, and the drifts of all clients.

    Its published scores, also those with 15 of 100 clients, are of this form.

        client k of S steps along g + alpha (h_k + w - w_t) + m - m_k,   m = sum_j p_j m_j
        h_k += D_k;   m_k += -m - D_k / (steps x rate), the mean of g + alpha (h_k + w - w_t)
        server:  w_{t+1} = mean over S of (w_t + D_k) + sum_j p_j h_j, over all N clients

    Absent clients keep h_k and m_k, which stay in both averages. A round in which the mean does not
    move the model leaves it as it is. The code divides alpha, and m, by N p_k too, which is 1 for
    clients of equal p_k.
    """

    averages: ClassVar[tuple[str, ...]] = ("drift", "step")

    def client(self, client: Client, server: Values, now: RoundContext) -> ClientInit:
        return ClientInit(offset=self._offset(client, server), pull=self.alpha)

    def after_client(
        self, client: Client, update: Any, server: Values, now: RoundContext
    ) -> Values:
        kept = super().after_client(client, update, server, now)
        corrected = kept["step"] + client.kept["step"] - server["average_step"]
        return {**kept, "step": now.xp.where(client.steps > 0, corrected, kept["step"])}

    def end_round(self, server: Values, model: Any, now: RoundContext) -> tuple[Values, Any]:
        """The model is moved by the average drift, except in an empty round."""
        moved = now.xp.any(model != now.model)
        return server, now.xp.where(moved, model + server["average_drift"], model)


@register(
    "aggregation",
    "feddc",
    "FedDC",
    about="clients are pulled back by their drift, which the server adds to their models",
    order=17,
)
@dataclass(frozen=True)
class FedDC(SumOrMean):
    """The weighted sum or mean of updates, with `Drifts` or `ReleasedDrifts`."""

    feddc_alpha: float = parameter(
        0.01, "alpha: clients add (alpha / 2) |h_k + w - w_t|^2 to their loss", minimum=0
    )
    feddc_form: str = parameter(
        "released",
        "released: the server adds the drifts of all clients, and controls are SCAFFOLD's, as in "
        "the authors' code; paper: the drifts of the round's clients, and their last updates",
        choices=("released", "paper"),
    )

    @property
    def memory(self) -> Drifts:
        return (Drifts if self.feddc_form == "paper" else ReleasedDrifts)(self.feddc_alpha)


@register(
    "algorithm",
    "feddc",
    "FedDC",
    about="mean over all available clients (or K of them), whose drifts are kept and added",
    order=38,
)
@dataclass(frozen=True)
class FedDCConfig(AllAvailableConfig):
    """Configuration of `AllAvailable` with FedDC's drifts: a mean with weights p_k."""

    aggregation: ClassVar[str] = "feddc"
