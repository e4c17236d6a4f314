"""Optimizers in JAX with the semantics of `tff.learning.optimizers`, epsilon placement included.

optax's differ: its Adam and Yogi bias-correct the moments before adding epsilon.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from f3ast_tff.optimizer import Optimizer

Tree = Any


class State(NamedTuple):
    """State of any optimizer; what it does not use stays an empty tuple.

    Attributes:
        step: Steps taken, int32 scalar.
        first: First moment, or momentum; like the weights.
        second: Second moment; like the weights.
    """

    step: Any
    first: Tree
    second: Tree


class JaxOptimizer(NamedTuple):
    """A pair of pure functions.

    Attributes:
        init: Weights to state.
        update: (state, weights, gradients, learning rate) to (state, weights).
        learning_rate: The rate to give where it does not change.
    """

    init: Callable[[Tree], State]
    update: Callable[[State, Tree, Tree, Any], tuple[State, Tree]]
    learning_rate: float


def build_optimizer(optimizer: Optimizer) -> JaxOptimizer:
    """Returns the functions of the optimizer that a value describes."""
    built = {"sgd": _sgd, "adam": _adam, "yogi": _yogi, "adagrad": _adagrad}[optimizer.name](
        optimizer
    )
    if optimizer.clip_norm is None:
        return built
    limit = optimizer.clip_norm

    def update(state: State, weights: Tree, gradients: Tree, lr: Any) -> tuple[State, Tree]:
        scale = limit / jnp.maximum(global_norm(gradients), limit)
        return built.update(state, weights, _map(lambda g: g * scale, gradients), lr)

    return built._replace(update=update)


def global_norm(tree: Tree) -> jax.Array:
    """Returns the L2 norm of all leaves together."""
    return jnp.sqrt(sum(jnp.sum(jnp.square(leaf)) for leaf in jax.tree_util.tree_leaves(tree)))


_map = jax.tree_util.tree_map


def _zeros(weights: Tree) -> Tree:
    return _map(jnp.zeros_like, weights)


def _sgd(o: Optimizer) -> JaxOptimizer:
    def init(weights: Tree) -> State:
        return State(jnp.int32(0), _zeros(weights) if o.momentum else (), ())

    def update(state: State, weights: Tree, gradients: Tree, lr: Any) -> tuple[State, Tree]:
        if not o.momentum:
            new = _map(lambda w, g: w - lr * g, weights, gradients)
            return State(state.step + 1, (), ()), new
        velocity = _map(lambda v, g: o.momentum * v + g, state.first, gradients)
        new = _map(lambda w, v: w - lr * v, weights, velocity)
        return State(state.step + 1, velocity, ()), new

    return JaxOptimizer(init, update, o.learning_rate)


def _adaptive(
    o: Optimizer, initial_second: float, second_moment: Callable[[Any, Any], Any]
) -> JaxOptimizer:
    def init(weights: Tree) -> State:
        second = _map(lambda w: jnp.full_like(w, initial_second), weights)
        return State(jnp.int32(0), _zeros(weights), second)

    def update(state: State, weights: Tree, gradients: Tree, lr: Any) -> tuple[State, Tree]:
        step = state.step + 1
        t = step.astype(jnp.float32)
        rate = lr * jnp.sqrt(1 - o.beta_2**t) / (1 - o.beta_1**t)
        first = _map(lambda m, g: m + (g - m) * (1 - o.beta_1), state.first, gradients)
        second = _map(second_moment, state.second, gradients)
        new = _map(lambda w, m, v: w - rate * m / (jnp.sqrt(v) + o.epsilon), weights, first, second)
        return State(step, first, second), new

    return JaxOptimizer(init, update, o.learning_rate)


def _adam(o: Optimizer) -> JaxOptimizer:
    return _adaptive(o, 0.0, lambda v, g: v + (jnp.square(g) - v) * (1 - o.beta_2))


def _yogi(o: Optimizer) -> JaxOptimizer:
    def second_moment(v: Any, g: Any) -> Any:
        square = jnp.square(g)
        return v + (1 - o.beta_2) * jnp.sign(square - v) * square

    return _adaptive(o, o.initial_accumulator, second_moment)


def _adagrad(o: Optimizer) -> JaxOptimizer:
    def init(weights: Tree) -> State:
        second = _map(lambda w: jnp.full_like(w, o.initial_accumulator), weights)
        return State(jnp.int32(0), (), second)

    def update(state: State, weights: Tree, gradients: Tree, lr: Any) -> tuple[State, Tree]:
        second = _map(lambda v, g: v + jnp.square(g), state.second, gradients)
        new = _map(
            lambda w, v, g: w - lr * g / jnp.sqrt(v + o.epsilon),
            weights,
            second,
            gradients,
        )
        return State(state.step + 1, (), second), new

    return JaxOptimizer(init, update, o.learning_rate)
