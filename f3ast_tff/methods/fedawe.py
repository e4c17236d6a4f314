"""FedAWE (Xiang et al., NeurIPS 2024): clients keep their own models and echo their updates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from f3ast_tff.methods.parts.aggregation_checks import require_plain_sgd
from f3ast_tff.methods.parts.memory import Client, ClientInit, RoundContext, Values
from f3ast_tff.methods.parts.method import MethodRules, method
from f3ast_tff.settings import parameter
from f3ast_tff.settings.configuration import Settings


@method(
    "fedawe",
    "FedAWE",
    about="mean of the clients' own models, each moved by its update times missed rounds and eta_g",
    order=24,
    step_scale=1,
)
@dataclass(frozen=True)
class FedAwe(MethodRules):
    """x_k, the model that client k last received, and tau_k, its round; x_k = w_1, tau_k = 0 first.

        client k of S trains from x_k, which gives D_k, and sends x_k + eta_g (t - tau_k) D_k;
        w_{t+1} = the weighted mean of the models sent by S;   x_k = w_{t+1}, tau_k = t for k in S

    (Algorithm 1). The server's rate is eta_g: a client sends (t - tau_k) D_k + (x_k - w_t) / eta_g,
    so that w_{t+1} = w_t + eta_g Delta. The authors' code adds a clip, w_{t+1} = mean of x_k +
    eta_g clip(mean of (t - tau_k) D_k), and scores the mean of all x_k.
    """

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

    vectors: ClassVar[Mapping[str, str]] = MappingProxyType({"model": "model"})
    numbers: ClassVar[tuple[str, ...]] = ("last_round",)
    settled_averages: ClassVar[tuple[str, ...]] = ("model",)

    @property
    def echo_clip(self) -> float | None:
        return self.fedawe_clip

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
        return server["average_model"] if self.fedawe_scored == "own_models" else model

    def check(self, settings: Settings) -> None:
        """Refuses other steps of the server, which change the x_k too."""
        super().check(settings)
        because = "with aggregation fedawe, whose eta_g is the rate of a plain step"
        require_plain_sgd(settings, "server", because)
