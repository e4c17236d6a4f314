"""A server aggregation: the weighted mean, clipped to a norm.

f3ast-tff run --plugin=examples/plugins/clipped_mean.py --aggregation=clipped_mean --clip_to=0.5
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from f3ast_tff.methods.parts.aggregation import Aggregation, AggregationConfig
from f3ast_tff.settings import parameter, register


@dataclass(frozen=True)
class ClippedMean(Aggregation):
    """Delta = min(1, c / |m|) m, m the weighted mean of the cohort's updates.

    Attributes:
        norm: c, above 0.
    """

    normalise: ClassVar[bool] = True

    norm: float

    def in_jax(self, delta: list[Any]) -> list[Any]:
        """Clips arrays of JAX."""
        import jax.numpy as jnp

        length = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in delta))
        return [leaf * (self.norm / jnp.maximum(length, self.norm)) for leaf in delta]

    def in_tf(self, delta: list[Any]) -> list[Any]:
        """Clips tensors of TensorFlow."""
        import tensorflow as tf

        return tf.clip_by_global_norm(delta, self.norm)[0]


@register("aggregation", "clipped_mean", "Clipped mean", about="weighted mean, clipped to a norm")
@dataclass(frozen=True)
class ClippedMeanConfig(AggregationConfig):
    """Configuration of `ClippedMean`."""

    clip_to: float = parameter(1.0, "largest norm of the aggregate", above=0)

    def build(self) -> ClippedMean:
        """Builds the aggregation."""
        return ClippedMean(self.clip_to)
