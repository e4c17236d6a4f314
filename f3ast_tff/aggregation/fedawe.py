"""FedAWE: each client goes on from its own model and echoes its update (Xiang et al. 2024)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from f3ast_tff.aggregation.aggregation import Aggregation, AggregationConfig
from f3ast_tff.aggregation.memory import Client, Memory, Now, Start, Values
from f3ast_tff.components import parameter, register


@dataclass(frozen=True)
class OwnModels(Memory):
    """x_k, the model that client k last received, and tau_k, the round of it; x_k = w_1, tau_k = 0.

        client k of S trains from x_k, which gives D_k, and sends x_k + eta_g (t - tau_k) D_k;
        w_{t+1} = the weighted mean over S of what they sent;   x_k = w_{t+1}, tau_k = t for k in S

    (Algorithm 1). Here a client sends that less w_t, so that w_{t+1} = w_t + Delta.

    Attributes:
        echo_rate: eta_g, above 0.
    """

    echo_rate: float = 1.0

    vectors: ClassVar[Mapping[str, str]] = MappingProxyType({"model": "model"})
    numbers: ClassVar[tuple[str, ...]] = ("last_round",)

    def client(self, client: Client, server: Values, now: Now) -> Start:
        """See `Memory.client`."""
        own = client.kept["model"]
        missed = now.round_number - client.kept["last_round"]
        return Start(model=own, scale=self.echo_rate * missed, shift=own - now.model)

    def noted(self, client: Client, update: Any, server: Values, now: Now) -> Values:
        """See `Memory.noted`."""
        last = now.xp.asarray(now.round_number, now.xp.float32)
        return {**client.kept, "last_round": last}

    def settled(self, kept: Values, delta: Any, model: Any, now: Now) -> Values:
        """See `Memory.settled`: x_k = w_{t+1}."""
        return {**kept, "model": model}


@dataclass(frozen=True)
class FedAwe(Aggregation):
    """Delta of `OwnModels`.

    Attributes:
        echo_rate: eta_g.
        clip_norm: Norm that Delta is clipped to; `None` for none.
    """

    normalise: ClassVar[bool] = True

    echo_rate: float = 1.0
    clip_norm: float | None = None

    @property
    def memory(self) -> OwnModels:
        """See `Aggregation.memory`."""
        return OwnModels(self.echo_rate)

    def in_jax(self, delta: list[Any]) -> list[Any]:
        """See `Aggregation.in_jax`."""
        if self.clip_norm is None:
            return delta
        import jax.numpy as jnp

        norm = jnp.sqrt(sum(jnp.sum(jnp.square(leaf)) for leaf in delta))
        # As in TensorFlow: a norm that overflows is no step of 0, and the round is rejected.
        limit = jnp.where(jnp.isfinite(norm), self.clip_norm, jnp.nan)
        scale = limit / jnp.maximum(norm, limit)
        return [leaf * scale for leaf in delta]

    def in_tf(self, delta: list[Any]) -> list[Any]:
        """See `Aggregation.in_tf`."""
        if self.clip_norm is None:
            return delta
        import tensorflow as tf

        return tf.clip_by_global_norm(delta, self.clip_norm)[0]


@register(
    "aggregation",
    "fedawe",
    "FedAWE",
    about="mean of the clients' own models, each moved by its update times the rounds it missed",
    order=8,
)
@dataclass(frozen=True)
class FedAweConfig(AggregationConfig):
    """Configuration of `FedAwe`."""

    fedawe_rate: float = parameter(
        1.0, "eta_g, how far a client follows its update for each round since its last", above=0
    )
    fedawe_clip: float | None = parameter(
        None,
        "norm that the server's step is clipped to, no limit by default; 0.5 in the released code",
        above=0,
    )

    def build(self) -> FedAwe:
        """See `AggregationConfig.build`."""
        return FedAwe(self.fedawe_rate, self.fedawe_clip)
