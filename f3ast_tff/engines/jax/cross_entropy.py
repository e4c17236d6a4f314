"""Loss, correctness and number of the labels of each example, in JAX."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp


class LabelSums(NamedTuple):
    """Sums over the labels of each example that count, each `float32 [n]`.

    Attributes:
        loss: Cross-entropy.
        correct: Labels predicted right.
        count: Labels.
    """

    loss: Any
    correct: Any
    count: Any


def label_sums(logits: Any, labels: Any) -> LabelSums:
    """Returns the sums, given logits `[n, ..., classes]` and labels `[n, ...]`.

    A negative label does not count.
    """
    rest = tuple(range(1, labels.ndim))
    labels = labels.astype(jnp.int32)
    # A mask, not an index: the gradient of indexing is a scatter, slow on CPUs.
    classes = jnp.arange(logits.shape[-1])
    of_label = labels[..., None] == classes
    loss = -jnp.sum(jnp.where(of_label, jax.nn.log_softmax(logits), 0.0), axis=-1)
    right = (_first_of_largest(logits, classes) == labels).astype(jnp.float32)
    counts = (labels >= 0).astype(jnp.float32)
    return LabelSums(*(jnp.sum(of_each, axis=rest) for of_each in (loss, right, counts)))


def _first_of_largest(logits: Any, classes: Any) -> Any:
    """`jnp.argmax` over the last axis, of two plain reductions: XLA's own is slow on CPUs."""
    largest = jnp.max(logits, axis=-1, keepdims=True)
    # As there, the first NaN is the largest.
    at_it = (logits == largest) | jnp.isnan(logits)
    return jnp.min(jnp.where(at_it, classes, len(classes)), axis=-1)
