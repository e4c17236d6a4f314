"""Convolution of images `[rows, columns, batch, channels]` as matrix products."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

# Winograd's minimal filtering F(2 x 2, 3 x 3). Along one axis, two outputs of a filter of three
# taps take four products instead of six:
# y = OUTPUTS @ ((KERNEL @ filter) * (INPUTS @ four inputs)).
# The constants are small, so the float32 error is as small as for a direct convolution.
_INPUTS = np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]])
_KERNEL = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])
_OUTPUTS = np.array([[1, 1, 1, 0], [0, 1, -1, -1]])


def winograd_convolution(x: Any, kernel: Any) -> Any:
    """Convolves with stride 1, padded with zeros to the same size.

    Lavin and Gray, "Fast algorithms for convolutional neural networks" (2016), eq. 8, with 2.25
    times fewer products than a direct convolution. The transforms act only on positions (or taps),
    so in this layout they are matrix products, also in the backward pass, and padding is free.

    Args:
        x: `[rows, columns, batch, channels]`.
        kernel: `[3, 3, channels, filters]`.

    Returns:
        `[rows, columns, batch, filters]`.
    """
    rows, columns, batch, channels = x.shape
    filters = kernel.shape[-1]
    inputs, outputs = _over_positions(rows, columns)
    taps = np.kron(_KERNEL, _KERNEL).astype(np.float32)
    x = (inputs @ x.reshape(rows * columns, -1)).reshape(16, -1, channels)
    kernel = (taps @ kernel.reshape(9, -1)).reshape(16, channels, filters)
    products = lax.dot_general(x, kernel, (((2,), (1,)), ((0,), (0,))))
    products = products.reshape(-1, batch * filters)
    return (outputs @ products).reshape(rows, columns, batch, filters)


def _over_positions(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the transforms of an image, `[16 tiles, positions]` and `[positions, 16 tiles]`."""
    rows_in, rows_out = _along_axis(rows)
    columns_in, columns_out = _along_axis(columns)
    size = rows * columns
    inputs = np.einsum("atr,buc->abturc", rows_in, columns_in).reshape(-1, size)
    outputs = np.einsum("rat,cbu->rcabtu", rows_out, columns_out).reshape(size, -1)
    return inputs.astype(np.float32), outputs.astype(np.float32)


def _along_axis(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns `[4, tiles, size]` and `[size, 4, tiles]`; a tile is two outputs."""
    tiles = -(-size // 2)
    inputs, outputs = np.zeros((4, tiles, size + 3)), np.zeros((size + 1, 4, tiles))
    for tile in range(tiles):
        inputs[:, tile, 2 * tile : 2 * tile + 4] = _INPUTS
        outputs[2 * tile : 2 * tile + 2, :, tile] = _OUTPUTS
    return inputs[:, :, 1 : size + 1], outputs[:size]


def convolution(x: Any, kernel: Any, stride: int = 1, padding: str = "same") -> Any:
    """Convolves as Keras's `Conv2D` does, without a bias.

    XLA's convolution is slow on a CPU in the backward pass. Under `jax.vmap` over kernels it
    becomes a grouped convolution, which is slow on a GPU.

    Args:
        x: `[rows, columns, batch, channels]`.
        kernel: `[height, width, channels, filters]`.
        stride: Step in both directions.
        padding: `"same"` or `"valid"`.

    Returns:
        `[rows', columns', batch, filters]`.
    """
    height, width = kernel.shape[:2]
    if (height, width) == (1, 1):
        return _product(x[::stride, ::stride], kernel)
    if (height, width, stride, padding) == (3, 3, 1, "same") and min(x.shape[:2]) > 1:
        return winograd_convolution(x, kernel)
    rows = _windows(x.shape[0], taps=height, stride=stride, padding=padding)
    columns = _windows(x.shape[1], taps=width, stride=stride, padding=padding)
    kernel = kernel[rows.first : rows.last, columns.first : columns.last]
    return _product(
        _gather(
            _gather(x, axis=1, windows=columns, stride=stride), axis=0, windows=rows, stride=stride
        ),
        kernel,
    )


class _Windows(NamedTuple):
    """Windows along one axis; taps outside `first:last` read only padding."""

    number: int
    before: int
    after: int
    first: int
    last: int


def _windows(size: int, taps: int, stride: int, padding: str) -> _Windows:
    if padding == "valid":
        return _Windows(number=(size - taps) // stride + 1, before=0, after=0, first=0, last=taps)
    number = -(-size // stride)
    missing = max((number - 1) * stride + taps - size, 0)
    before, after = missing // 2, missing - missing // 2
    first = max(0, before - (number - 1) * stride)
    return _Windows(number, before, after, first, min(taps, before + size))


def _gather(x: Any, axis: int, windows: _Windows, stride: int) -> Any:
    """Returns the windows along an axis; the taps of a window are consecutive in the last axis."""
    pads = [(0, 0, 0)] * x.ndim
    pads[axis] = (windows.before, windows.after, 0)
    x = lax.pad(x, jnp.zeros((), x.dtype), pads)
    span = (windows.number - 1) * stride + 1
    taps = [
        lax.slice_in_dim(x, tap, tap + span, stride, axis)
        for tap in range(windows.first, windows.last)
    ]
    return jnp.concatenate(taps, axis=-1)


def _product(x: Any, kernel: Any) -> Any:
    return x @ kernel.reshape(-1, kernel.shape[-1])
