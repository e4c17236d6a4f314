"""FedAWE (Xiang et al., NeurIPS 2024): clients keep their own models and echo their updates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.aggregation_checks import require_plain_sgd
from f3ast_tff.methods.parts.all_available import AllAvailableConfig
from f3ast_tff.methods.parts.memory import Client, ClientInit, Memory, RoundContext, Values
from f3ast_tff.settings import parameter, register
from f3ast_tff.settings.configuration import Settings


@dataclass(frozen=True)
class OwnModels(Memory):
    """x_k, the model that client k last received, and tau_k, its round; x_k = w_1, tau_k = 0 first.

        client k of S trains from x_k, which gives D_k, and sends x_k + eta_g (t - tau_k) D_k;
        w_{t+1} = the weighted mean of the models sent by S;   x_k = w_{t+1}, tau_k = t for k in S

    (Algorithm 1). The server's rate is eta_g: a client sends (t - tau_k) D_k + (x_k - w_t) / eta_g,
    so that w_{t+1} = w_t + eta_g Delta. The authors' code adds a clip, w_{t+1} = mean of x_k +
    eta_g clip(mean of (t - tau_k) D_k), and scores the mean of all x_k.

    Attributes:
        clip_norm: Norm that the mean of (t - tau_k) D_k is clipped to; `None` for no limit.
        scores_own_models: Whether sum_j p_j x_j is scored instead of w.
    """

    clip_norm: float | None
    scores_own_models: bool

    vectors: ClassVar[Mapping[str, str]] = MappingProxyType({"model": "model"})
    numbers: ClassVar[tuple[str, ...]] = ("last_round",)
    settled_averages: ClassVar[tuple[str, ...]] = ("model",)

    @property
    def echo_clip(self) -> float | None:
        return self.clip_norm

    def client(self, client: Client, server: Values, now: RoundContext) -> ClientInit:
        own = client.kept["model"]
        missed = now.round_number - client.kept["last_round"]
        return ClientInit(model=own, scale=missed, shift=(own - now.model) / now.server_rate)

    def after_client(
        self, client: Client, update: Any, server: Values, now: RoundContext
    ) -> Values:
        last = now.xp.asarray(now.round_number, now.xp.float32)
        return {**client.kept, "last_round": last}

    def after_server_step(self, kept: Values, delta: Any, model: Any, now: RoundContext) -> Values:
        """x_k = w_{t+1}."""
        return {**kept, "model": model}

    def evaluated(self, server: Values, model: Any) -> Any:
        """sum_j p_j x_j."""
        return server["average_model"] if self.scores_own_models else model


@register(
    "aggregation",
    "fedawe",
    "FedAWE",
    about="mean of the clients' own models, each moved by its update times missed rounds and eta_g",
    order=8,
)
@dataclass(frozen=True)
class FedAwe(Aggregation):
    """Delta of `OwnModels`; the server's step is its learning rate times Delta."""

    normalise: ClassVar[bool] = True

    fedawe_clip: float | None = parameter(
        None,
        "largest norm of the mean of the clients' echoed updates, no limit by default; 0.5 in the "
        "released code",
        above=0,
    )
    fedawe_scored: str = parameter(
        "own_models",
        "the mean of all clients' models is scored, as in the released code, or the server's",
        choices=("own_models", "server_model"),
    )

    def check(self, settings: Settings) -> None:
        """Refuses other steps of the server, which change the x_k too."""
        super().check(settings)
        because = "with aggregation fedawe, whose eta_g is the rate of a plain step"
        require_plain_sgd(settings, "server", because)

    @property
    def memory(self) -> OwnModels:
        own_models = self.fedawe_scored == "own_models"
        return OwnModels(self.fedawe_clip, own_models)


@register(
    "algorithm",
    "fedawe",
    "FedAWE",
    about="all available clients (or K of them) go on from their own models and echo their updates",
    order=24,
)
@dataclass(frozen=True)
class FedAweConfig(AllAvailableConfig):
    """Configuration of `AllAvailable` with FedAWE's memory: a mean with weights p_k."""

    aggregation: ClassVar[str] = "fedawe"
