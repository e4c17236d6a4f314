"""The server's step: parameters move along the weighted updates, buffers become their mean."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from f3ast_tff.flower.arrays import Model


class StepError(ArithmeticError):
    """The step is not finite; names the array."""


def moved(
    model: Model,
    came: Sequence[Model],
    weights: np.ndarray,
    *,
    mean: bool,
    rate: float,
    buffers: Collection[str],
) -> Model:
    """Returns x + rate sum_k w_k (x_k - x), over sum_k w_k for a mean.

    An integer is rounded, held in its type's range, and stays the same if nobody changed it. A
    buffer becomes the mean of the clients' own, by weights scaled to sum 1, whatever the rate.

    Args:
        model: x, arrays by name.
        came: x_k of the clients whose reply came, at least one; arrays of the same shapes.
        weights: w_k, `float64 [m]`; their sum is not 0 for a mean.
        mean: Whether the weights are divided by their sum.
        rate: The server's rate.
        buffers: Names of the buffers.

    Raises:
        StepError: If an array is not finite in its type.
    """
    total = float(weights.sum()) if mean else 1.0
    found = {}
    for name, value in model.items():
        own = [each[name] for each in came]
        with np.errstate(over="ignore", invalid="ignore"):
            if name in buffers:
                found[name] = _mean(value, own, weights)
            else:
                found[name] = _stepped(value, own, weights / total, rate)
        if not np.isfinite(found[name]).all():
            raise StepError(f"array {name} is not finite")
    return found


def _stepped(
    value: np.ndarray, came: Sequence[np.ndarray], weights: np.ndarray, rate: float
) -> np.ndarray:
    start = value.astype(_wide(value.dtype))
    step = np.zeros_like(start)
    for each, weight in zip(came, weights):
        step += weight * (each - start)
    after = start + rate * step
    if value.dtype.kind not in "biu":
        # Arithmetic makes a number of an array of shape (), which Flower does not send.
        return np.asarray(after).astype(value.dtype)
    if not np.isfinite(after).all():
        return np.asarray(after)
    # Not every integer has a floating-point number.
    return np.where(step == 0, value, _held(after, *_range(value.dtype)))


def _mean(value: np.ndarray, came: Sequence[np.ndarray], weights: np.ndarray) -> np.ndarray:
    """The mean, between the least and the greatest that came, so that equal ones stay."""
    total = weights.sum()
    if total == 0:
        return value
    if value.dtype.kind in "biu":
        came = [np.rint(e).astype(value.dtype) if e.dtype.kind == "f" else e for e in came]
        came = [each.astype(value.dtype) for each in came]
    wide = _wide(value.dtype)
    mean = sum(weight / total * each.astype(wide) for each, weight in zip(came, weights))
    low, high = np.minimum.reduce(list(came)), np.maximum.reduce(list(came))
    if value.dtype.kind in "biu":
        return _held(np.asarray(mean), low, high)
    return np.asarray(np.clip(mean, low.astype(wide), high.astype(wide))).astype(value.dtype)


def _held(after: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Rounded numbers, in the integer type and the range of `low` and `high`."""
    rounded = np.rint(after)
    inside = (rounded > low) & (rounded < high)
    integers = np.where(inside, rounded, 0).astype(low.dtype)
    return np.where(inside, integers, np.where(rounded <= low, low, high))


def _range(dtype: np.dtype[Any]) -> tuple[np.ndarray, np.ndarray]:
    if dtype.kind == "b":
        return np.array(False), np.array(True)
    return np.array(np.iinfo(dtype).min, dtype), np.array(np.iinfo(dtype).max, dtype)


def _wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type of the arithmetic: at least `float64`."""
    return np.result_type(dtype, np.float64) if dtype.kind == "f" else np.dtype(np.float64)
