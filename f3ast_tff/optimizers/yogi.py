"""Yogi (Zaheer et al. 2018), epsilon placed as in TFF."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from f3ast_tff.components import register
from f3ast_tff.optimizers.adam import Adam, by_moments
from f3ast_tff.optimizers.optimizer import AdaptiveClientConfig, AdaptiveServerConfig

_ABOUT = "Adam whose second moment moves by a bounded amount"


@dataclass(frozen=True)
class Yogi(Adam):
    """Adam's step with v + (1 - b2) sign(g^2 - v) g^2 for the second moment v.

    Attributes:
        initial_accumulator: What v starts from.
    """

    initial_accumulator: float = 1e-6

    def in_jax(self, learning_rate: Any) -> Any:
        """See `Optimizer.in_jax`."""
        from jax import numpy as jnp

        def second_moment(v: Any, g: Any) -> Any:
            square = jnp.square(g)
            return v + (1 - self.beta_2) * jnp.sign(square - v) * square

        constants = (self.beta_1, self.beta_2, self.epsilon, self.initial_accumulator)
        return by_moments(learning_rate, *constants, second_moment)

    def in_tff(self) -> Any:
        """See `Optimizer.in_tff`."""
        import tensorflow_federated as tff

        constants = (self.beta_1, self.beta_2, self.epsilon, self.initial_accumulator)
        return tff.learning.optimizers.build_yogi(self.learning_rate, *constants)


@register("client_optimizer", "yogi", "Yogi", about=_ABOUT, order=3)
@dataclass(frozen=True)
class ClientYogiConfig(AdaptiveClientConfig):
    """Configuration of `Yogi` on clients."""

    def build(self) -> Yogi:
        """See `OptimizerConfig.build`."""
        return Yogi(self.client_lr, epsilon=self.epsilon)


@register("server_optimizer", "yogi", "Yogi", about=_ABOUT, order=3)
@dataclass(frozen=True)
class ServerYogiConfig(AdaptiveServerConfig):
    """Configuration of `Yogi` on the server (FedYogi, Reddi et al. 2021)."""

    def build(self) -> Yogi:
        """See `OptimizerConfig.build`."""
        return Yogi(self.server_lr, epsilon=self.epsilon)
