"""A server aggregation: the weighted mean, clipped to a norm.

f3ast-tff run --plugin=clipped_mean.py --aggregation=clipped_mean --clip_to=0.5
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.settings import parameter, register


@register("aggregation", "clipped_mean", "Clipped mean", about="weighted mean, clipped to a norm")
@dataclass(frozen=True)
class ClippedMean(Aggregation):
    """Delta = min(1, c / |m|) m, m the weighted mean of the cohort's updates, c `clip_to`."""

    normalise: ClassVar[bool] = True

    clip_to: float = parameter(1.0, "largest norm of the aggregate", above=0)

    def in_jax(self, delta: list[Any]) -> list[Any]:
        """Clips arrays of JAX."""
        import jax.numpy as jnp

        length = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in delta))
        return [leaf * (self.clip_to / jnp.maximum(length, self.clip_to)) for leaf in delta]

    def in_tf(self, delta: list[Any]) -> list[Any]:
        """Clips tensors of TensorFlow."""
        import tensorflow as tf

        clipped: list[Any] = tf.clip_by_global_norm(delta, self.clip_to)[0]
        return clipped
