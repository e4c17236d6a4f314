"""Adagrad (Duchi et al. 2011)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from f3ast_tff.components import register
from f3ast_tff.optimizers.optimizer import AdaptiveClientConfig, AdaptiveServerConfig, Optimizer

_ABOUT = "steps by the gradient over the root of the sum of all squares so far"


@dataclass(frozen=True)
class Adagrad(Optimizer):
    """Step rate g / sqrt(v + epsilon), v the sum of all g^2.

    Attributes:
        epsilon: Added to v, under the root.
        initial_accumulator: What v starts from.
    """

    epsilon: float = 1e-7
    initial_accumulator: float = 1e-6

    def in_jax(self, learning_rate: Any) -> Any:
        """See `Optimizer.in_jax`."""
        import optax

        return optax.adagrad(learning_rate, self.initial_accumulator, self.epsilon)

    def in_tff(self) -> Any:
        """See `Optimizer.in_tff`."""
        import tensorflow_federated as tff

        constants = (self.learning_rate, self.initial_accumulator, self.epsilon)
        return tff.learning.optimizers.build_adagrad(*constants)


@register("client_optimizer", "adagrad", "Adagrad", about=_ABOUT, order=4)
@dataclass(frozen=True)
class ClientAdagradConfig(AdaptiveClientConfig):
    """Configuration of `Adagrad` on clients."""

    def build(self) -> Adagrad:
        """See `OptimizerConfig.build`."""
        return Adagrad(self.client_lr, epsilon=self.epsilon)


@register("server_optimizer", "adagrad", "Adagrad", about=_ABOUT, order=4)
@dataclass(frozen=True)
class ServerAdagradConfig(AdaptiveServerConfig):
    """Configuration of `Adagrad` on the server (FedAdagrad, Reddi et al. 2021)."""

    def build(self) -> Adagrad:
        """See `OptimizerConfig.build`."""
        return Adagrad(self.server_lr, epsilon=self.epsilon)
