"""Max pooling of images `[rows, columns, batch, channels]`."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax


def max_pool(x: Any, size: int, stride: int, padding: str = "same") -> Any:
    """Pools as Keras's `MaxPooling2D` does.

    It takes maxima over shifted slices, because the backward pass of XLA's window reduction is slow
    on a CPU. If two pixels of a window are equal, they share the gradient (TensorFlow gives it to
    the first). After a ReLU such pixels are zeros, so no weight's gradient changes.

    Args:
        x: `[rows, columns, batch, channels]`.
        size: Side of the windows.
        stride: Step of the windows.
        padding: `"same"` or `"valid"`.

    Returns:
        `[rows', columns', batch, channels]`.
    """
    return _along_axis(_along_axis(x, 0, size, stride, padding), 1, size, stride, padding)


def _along_axis(x: Any, axis: int, size: int, stride: int, padding: str) -> Any:
    length = x.shape[axis]
    number = -(-length // stride) if padding == "same" else (length - size) // stride + 1
    span = (number - 1) * stride + 1
    missing = max(span + size - 1 - length, 0)
    pads = [(0, 0, 0)] * x.ndim
    pads[axis] = (missing // 2, missing - missing // 2, 0)
    x = lax.pad(x, jnp.array(-jnp.inf, x.dtype), pads)
    largest = lax.slice_in_dim(x, 0, span, stride, axis)
    for shift in range(1, size):
        largest = jnp.maximum(largest, lax.slice_in_dim(x, shift, shift + span, stride, axis))
    return largest
