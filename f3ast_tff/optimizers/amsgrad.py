"""AMSGrad (Reddi et al., ICLR 2018) on the server, as FADAS uses it (Wang et al., ICML 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from f3ast_tff.optimizers.adaptive import AdaptiveServerConfig
from f3ast_tff.optimizers.optimizer import Optimizer
from f3ast_tff.settings import parameter, register


class LargestMoments(NamedTuple):
    """State of AMSGrad.

    Attributes:
        first: First moment m, like the weights.
        second: Second moment v, like the weights.
        largest: The largest v so far, like the weights.
    """

    first: Any
    second: Any
    largest: Any


@dataclass(frozen=True)
class AmsGrad(Optimizer):
    """Step rate m / (sqrt(v_max) + epsilon), from m = v = v_max = 0, without bias correction.

        m = b1 m + (1 - b1) g;   v = b2 v + (1 - b2) g^2;   v_max = max(v_max, v)

    (FADAS, Algorithm 1).

    Attributes:
        beta_1: b1, decay of the first moment, in [0, 1).
        beta_2: b2, decay of the second moment, in [0, 1).
        epsilon: Added to the root.
    """

    beta_1: float = 0.9
    beta_2: float = 0.99
    epsilon: float = 1e-8

    def in_jax(self, learning_rate: Any) -> Any:
        import jax
        import optax
        from jax import numpy as jnp

        tree_map = jax.tree_util.tree_map

        def init(weights: Any) -> LargestMoments:
            return LargestMoments(*(tree_map(jnp.zeros_like, weights) for _ in range(3)))

        def update(
            gradients: Any, state: LargestMoments, weights: Any = None
        ) -> tuple[Any, LargestMoments]:
            grow_1, grow_2 = 1 - self.beta_1, 1 - self.beta_2
            first = tree_map(lambda m, g: m + (g - m) * grow_1, state.first, gradients)
            squares = tree_map(jnp.square, gradients)
            second = tree_map(lambda v, g: v + (g - v) * grow_2, state.second, squares)
            largest = tree_map(jnp.maximum, state.largest, second)
            steps = tree_map(
                lambda m, v: -(learning_rate * m / (jnp.sqrt(v) + self.epsilon)), first, largest
            )
            return steps, LargestMoments(first, second, largest)

        return optax.GradientTransformation(init, update)

    def in_tff(self) -> Any:
        from f3ast_tff.engines.tff.amsgrad import AmsGradInTff

        return AmsGradInTff(self.learning_rate, self.beta_1, self.beta_2, self.epsilon)


@register(
    "server_optimizer",
    "amsgrad",
    "AMSGrad",
    about="Adam by the largest second moment so far, without bias correction",
    order=5,
)
@dataclass(frozen=True)
class ServerAmsGradConfig(AdaptiveServerConfig):
    """Configuration of `AmsGrad`."""

    amsgrad_beta_2: float = parameter(
        0.99, "b2, decay of AMSGrad's second moment", minimum=0, below=1
    )

    def build(self) -> AmsGrad:
        return AmsGrad(self.server_lr, beta_2=self.amsgrad_beta_2, epsilon=self.epsilon)
