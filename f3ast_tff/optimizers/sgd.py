"""SGD, optionally with momentum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from f3ast_tff.optimizers.optimizer import MAX_LEARNING_RATE, Arrays, Optimizer, OptimizerConfig
from f3ast_tff.settings import Published, parameter, register

_ABOUT = "steps of the learning rate along the gradient, with momentum if wanted"


@dataclass(frozen=True)
class Sgd(Optimizer):
    """w - rate * v with v = momentum * v + g.

    Attributes:
        momentum: Momentum in [0, 1); 0 for none.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.optimizers import Sgd
        >>> sgd, rate, gradients = Sgd(0.1, momentum=0.5), np.float32(0.1), np.ones(1, np.float32)
        >>> first, moments = sgd.in_numpy(gradients, (0 * gradients,), step=1, learning_rate=rate)
        >>> second, moments = sgd.in_numpy(gradients, moments, step=2, learning_rate=rate)
        >>> round(float(first[0]), 3), round(float(second[0]), 3)
        (0.1, 0.15)
    """

    momentum: float = 0.0

    @property
    def initial_moments(self) -> tuple[float, ...]:
        return (0.0,) if self.momentum else ()

    def in_numpy(
        self, gradients: np.ndarray, moments: Arrays, *, step: int, learning_rate: np.float32
    ) -> tuple[np.ndarray, Arrays]:
        if not self.momentum:
            return learning_rate * gradients, ()
        velocity = self.momentum * moments[0] + gradients
        return learning_rate * velocity, (velocity,)

    def in_jax(self, learning_rate: Any) -> Any:
        import optax

        return optax.sgd(learning_rate, self.momentum or None)

    def in_tff(self) -> Any:
        import tensorflow_federated as tff

        return tff.learning.optimizers.build_sgdm(self.learning_rate, self.momentum)


@register("client_optimizer", "sgd", "SGD", about=_ABOUT, order=1)
@dataclass(frozen=True)
class ClientSgdConfig(OptimizerConfig):
    """Configuration of `Sgd` on clients.

    Examples:
        >>> from f3ast_tff.optimizers.sgd import ClientSgdConfig
        >>> optimizer = ClientSgdConfig(client_lr=0.1, client_momentum=0.9).build()
        >>> optimizer.learning_rate, optimizer.momentum
        (0.1, 0.9)
    """

    client_lr: float = parameter(
        Published(0.1), "client learning rate", above=0, maximum=MAX_LEARNING_RATE
    )
    client_momentum: float = parameter(0.0, "momentum of a client SGD", minimum=0, below=1)

    def build(self) -> Sgd:
        return Sgd(self.client_lr, momentum=self.client_momentum)


@register("server_optimizer", "sgd", "SGD", about=_ABOUT, order=1)
@dataclass(frozen=True)
class ServerSgdConfig(OptimizerConfig):
    """Configuration of `Sgd` on the server."""

    server_lr: float = parameter(
        Published(1.0), "server learning rate", above=0, maximum=MAX_LEARNING_RATE
    )
    server_momentum: float = parameter(0.0, "momentum of a server SGD", minimum=0, below=1)

    def build(self) -> Sgd:
        return Sgd(self.server_lr, momentum=self.server_momentum)
