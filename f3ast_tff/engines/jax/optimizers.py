"""Steps of an optimizer in a JAX program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import optax

from f3ast_tff.core.errors import ComponentError
from f3ast_tff.optimizers import Optimizer

# Arrays in lists, tuples, dictionaries ...
Tree = Any


@dataclass(frozen=True)
class JaxOptimizer:
    """Pure functions of weights, gradients and state.

    Attributes:
        optimizer: The optimizer's parameters.

    Raises:
        ParameterError: If the optimizer has no form in JAX.
    """

    optimizer: Optimizer

    def __post_init__(self) -> None:
        self._at(self.learning_rate)

    @property
    def learning_rate(self) -> float:
        """The rate to pass if it never changes, so that XLA sees a constant."""
        return self.optimizer.learning_rate

    @property
    def decays(self) -> bool:
        """Whether the rate changes from round to round."""
        return not self.optimizer.is_constant

    def _at(self, rate: Any) -> optax.GradientTransformation:
        built, limit = self.optimizer.in_jax(rate), self.optimizer.clip_norm
        if not (
            callable(getattr(built, "init", None)) and callable(getattr(built, "update", None))
        ):
            name = f"optimizer {type(self.optimizer).__name__}: in_jax"
            allowed = "must be an optax.GradientTransformation"
            raise ComponentError(f"{name} returned {type(built).__name__}: {allowed}")
        return built if limit is None else optax.chain(_clip(limit), built)

    def init(self, weights: Tree) -> Tree:
        """Returns the state before the first step."""
        return self._at(self.learning_rate).init(weights)

    def update(self, state: Tree, weights: Tree, gradients: Tree, rate: Any) -> tuple[Tree, Tree]:
        """Returns state and weights after a step at rate `rate`."""
        steps, state = self._at(rate).update(gradients, state, weights)
        return state, optax.apply_updates(weights, steps)


def _clip(limit: float) -> optax.GradientTransformation:
    """Clips to a global norm; gives NaN if the norm overflows, as TensorFlow; optax gives 0."""
    clip = optax.clip_by_global_norm(limit)

    def update(gradients: Tree, state: Any, weights: Tree | None = None) -> tuple[Tree, Any]:
        leaves = jax.tree_util.tree_leaves(gradients)
        finite = jnp.isfinite(sum(jnp.sum(jnp.square(leaf)) for leaf in leaves))
        clipped, state = clip.update(gradients, state, weights)
        return jax.tree_util.tree_map(lambda g: jnp.where(finite, g, jnp.nan), clipped), state

    return optax.GradientTransformation(clip.init, update)
