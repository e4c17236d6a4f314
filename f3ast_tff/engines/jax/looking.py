"""Gradients of an optimizer that looks elsewhere, in a JAX program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from f3ast_tff.engines.jax.optimizers import Tree
from f3ast_tff.optimizers import Optimizer
from f3ast_tff.optimizers.looking import looked


def looked_leaves(
    optimizer: Optimizer,
    find: Callable[[Tree], Tree],
    weights: Tree,
    gradients: Tree,
    buffers: tuple[int, ...],
) -> Tree:
    """Returns the gradients of a client's step, see `looked`.

    Args:
        optimizer: Client optimizer.
        find: Gradients of the loss of the step's batch, given leaves like `weights`.
        weights: Leaves before the step.
        gradients: Gradients at `weights`.
        buffers: Places of the leaves that are buffers, whose gradient is 0.
    """
    flat, leaves = ravel_pytree(weights)

    def vector(found: Tree) -> Any:
        parts = jax.tree_util.tree_leaves(found)
        kept = [jnp.zeros_like(p) if i in buffers else p for i, p in enumerate(parts)]
        return ravel_pytree(kept)[0]

    return leaves(looked(optimizer, lambda at: vector(find(leaves(at))), flat, vector(gradients)))
