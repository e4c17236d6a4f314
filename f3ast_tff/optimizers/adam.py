"""Adam (Kingma and Ba 2015), epsilon placed as in TFF."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from f3ast_tff.components import register
from f3ast_tff.optimizers.optimizer import AdaptiveClientConfig, AdaptiveServerConfig, Optimizer

_ABOUT = "steps by first over root of second moment of the gradients"


@dataclass(frozen=True)
class Adam(Optimizer):
    """Step rate sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt(v) + epsilon), from m = v = 0.

    Attributes:
        beta_1: b1, decay of the first moment m, in [0, 1).
        beta_2: b2, decay of the second moment v, in [0, 1).
        epsilon: Added to the root of v, which is not bias-corrected.
    """

    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-7

    def in_jax(self, learning_rate: Any) -> Any:
        """See `Optimizer.in_jax`."""
        from jax import numpy as jnp

        def second_moment(v: Any, g: Any) -> Any:
            return v + (jnp.square(g) - v) * (1 - self.beta_2)

        constants = (self.beta_1, self.beta_2, self.epsilon)
        return by_moments(learning_rate, *constants, 0.0, second_moment)

    def in_tff(self) -> Any:
        """See `Optimizer.in_tff`."""
        import tensorflow_federated as tff

        constants = (self.learning_rate, self.beta_1, self.beta_2, self.epsilon)
        return tff.learning.optimizers.build_adam(*constants)


class Moments(NamedTuple):
    """State of Adam and Yogi.

    Attributes:
        step: Steps taken, int32 scalar.
        first: First moment, like the weights.
        second: Second moment, like the weights.
    """

    step: Any
    first: Any
    second: Any


def by_moments(
    learning_rate: Any,
    beta_1: float,
    beta_2: float,
    epsilon: float,
    initial_second: float,
    second_moment: Callable[[Any, Any], Any],
) -> Any:
    """Returns Adam's transformation, for the update of a second moment v by a gradient g.

    optax's own Adam and Yogi correct the bias of the second moment before they add epsilon.
    """
    import jax
    import optax
    from jax import numpy as jnp

    tree_map = jax.tree_util.tree_map

    def init(weights: Any) -> Moments:
        second = tree_map(lambda w: jnp.full_like(w, initial_second), weights)
        return Moments(jnp.int32(0), tree_map(jnp.zeros_like, weights), second)

    def update(gradients: Any, state: Moments, weights: Any = None) -> tuple[Any, Moments]:
        step = state.step + 1
        t = step.astype(jnp.float32)
        rate = learning_rate * jnp.sqrt(1 - beta_2**t) / (1 - beta_1**t)
        first = tree_map(lambda m, g: m + (g - m) * (1 - beta_1), state.first, gradients)
        second = tree_map(second_moment, state.second, gradients)
        steps = tree_map(lambda m, v: -(rate * m / (jnp.sqrt(v) + epsilon)), first, second)
        return steps, Moments(step, first, second)

    return optax.GradientTransformation(init, update)


@register("client_optimizer", "adam", "Adam", about=_ABOUT, order=2)
@dataclass(frozen=True)
class ClientAdamConfig(AdaptiveClientConfig):
    """Configuration of `Adam` on clients."""

    def build(self) -> Adam:
        """See `OptimizerConfig.build`."""
        return Adam(self.client_lr, epsilon=self.epsilon)


@register("server_optimizer", "adam", "Adam", about=_ABOUT, order=2)
@dataclass(frozen=True)
class ServerAdamConfig(AdaptiveServerConfig):
    """Configuration of `Adam` on the server (FedAdam, Reddi et al. 2021)."""

    def build(self) -> Adam:
        """See `OptimizerConfig.build`."""
        return Adam(self.server_lr, epsilon=self.epsilon)
