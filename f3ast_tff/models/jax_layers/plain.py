"""The same layers in XLA's operations, for comparison with the fast layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from f3ast_tff.models.jax_layers.lstm import Layer

_IMAGES = ("HWNC", "HWIO", "HWNC")


def convolution(x: Any, kernel: Any, stride: int = 1, padding: str = "same") -> Any:
    """The plain `convolution.convolution`."""
    strides = (stride, stride)
    return lax.conv_general_dilated(x, kernel, strides, padding.upper(), dimension_numbers=_IMAGES)


def max_pool(x: Any, size: int, stride: int, padding: str = "same") -> Any:
    """The plain `max_pool.max_pool`; of equal pixels the first gets all."""
    window, strides = (size, size, 1, 1), (stride, stride, 1, 1)
    return lax.reduce_window(x, -jnp.inf, lax.max, window, strides, padding.upper())


def group_norm(x: Any, scale: Any, offset: Any, groups: int = 32, epsilon: float = 1e-3) -> Any:
    """The plain `group_norm.group_norm`."""
    grouped = x.reshape(*x.shape[:3], groups, -1)
    mean = grouped.mean(axis=(0, 1, 4), keepdims=True)
    variance = grouped.var(axis=(0, 1, 4), keepdims=True)
    normalised = (grouped - mean) * lax.rsqrt(variance + epsilon)
    return normalised.reshape(x.shape) * scale + offset


def lstm(x: Any, layers: Sequence[Layer]) -> Any:
    """The plain `lstm.lstm`, which JAX differentiates."""
    for layer in layers:

        def step(
            state: tuple[Any, Any], x_t: Any, layer: Layer = layer
        ) -> tuple[tuple[Any, Any], Any]:
            h, c = state
            z = x_t @ layer.kernel + h @ layer.recurrent + layer.bias
            i, f, g, o = jnp.split(z, 4, axis=1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zero = jnp.zeros((x.shape[1], layer.recurrent.shape[0]), x.dtype)
        x = lax.scan(step, (zero, zero), x)[1]
    return x
