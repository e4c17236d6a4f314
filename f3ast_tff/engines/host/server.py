"""The server's half of a round in NumPy: the aggregate, and the optimizer's step along it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from f3ast_tff.core.errors import ComponentError
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.host_memory import flat, leaves_of
from f3ast_tff.methods.parts.memory import ClientInit, clipped
from f3ast_tff.optimizers.optimizer import Arrays, Optimizer


@dataclass(frozen=True)
class ServerState:
    """Model and state of the server optimizer.

    Attributes:
        model: w, `float32 [num_weights]`.
        moments: State of the optimizer, arrays like the model.
        step: Steps taken.
    """

    model: np.ndarray
    moments: Arrays
    step: int = 0


def weighted_sum(
    updates: np.ndarray,
    weights: np.ndarray,
    starts: Sequence[ClientInit],
    *,
    mean: bool,
    echo_clip: float | None,
    may_be_zero: bool,
) -> np.ndarray:
    """Returns sum_k w_k (scale_k D_k + shift_k), over sum_k w_k for a mean (line 9).

    Args:
        updates: D_k, finite, `float32 [m, num_weights]`.
        weights: w_k, `float32 [m]`.
        starts: Scale and shift of each client, if there is a memory.
        mean: Whether the weights are divided by their sum.
        echo_clip: Norm to which the clients' own part is clipped, if any.
        may_be_zero: Whether a mean with weights of sum 0 is a sum; otherwise it is not finite.
    """
    total = weights.sum(dtype=np.float32)
    divisor = total if mean and (total != 0 or not may_be_zero) else np.float32(1)
    start = ClientInit.stacked(starts)
    # A product with the weights is cheaper than one with the updates.
    scaled = weights if start.scale is None else weights * start.scale[:, 0]
    delta: np.ndarray = scaled @ updates / divisor
    if echo_clip is not None:
        delta = clipped(delta, echo_clip, np)
    return delta if start.shift is None else delta + weights @ start.shift / divisor


def direction(aggregation: Aggregation, delta: np.ndarray, like: list[np.ndarray]) -> np.ndarray:
    """Returns the aggregation's direction along `delta`, cut into arrays like `like`.

    Raises:
        ComponentError: If it has other shapes than `delta`.
    """
    given = leaves_of(delta, like)
    found = aggregation.in_numpy(given)
    shapes = [np.shape(part) for part in found] if isinstance(found, list) else []
    wanted = [part.shape for part in given]
    if shapes != wanted:
        raise ComponentError(
            f"aggregation {aggregation.own_name}: in_numpy returned "
            f"{type(found).__name__} of shapes {shapes}: must be a list of shapes {wanted}"
        )
    return flat(found).astype(np.float32, copy=False)


def stepped(
    state: ServerState, delta: np.ndarray, optimizer: Optimizer, factor: float
) -> ServerState:
    """Returns the state after the optimizer's step along Delta, at `factor` times its rate."""
    step, rate = state.step + 1, np.float32(optimizer.learning_rate * factor)
    taken, moments = subtracted(optimizer, -delta, state.moments, step=step, rate=rate)
    return ServerState(state.model - taken, moments, step)


def subtracted(
    optimizer: Optimizer, gradients: np.ndarray, moments: Arrays, *, step: int, rate: np.float32
) -> tuple[np.ndarray, Arrays]:
    """Returns the step of `in_numpy` along clipped gradients, and the moments after it."""
    given = clipped_rows(gradients, optimizer.clip_norm)
    found: Any = optimizer.in_numpy(given, moments, step=step, learning_rate=rate)
    if isinstance(found, tuple) and len(found) == 2 and np.shape(found[0]) == gradients.shape:
        return found[0], found[1]
    must = f"must return a pair: a step of shape {[*gradients.shape]}, and the moments"
    raise ComponentError(f"optimizer {type(optimizer).__name__}: in_numpy {must}")


def clipped_rows(gradients: np.ndarray, limit: float | None) -> np.ndarray:
    """Clips each row of `[..., num_weights]` to a norm; NaN if a norm overflows."""
    if limit is None:
        return gradients
    norms = np.sqrt(np.sum(np.square(gradients), axis=-1, keepdims=True))
    factors = np.where(np.isfinite(norms), np.minimum(1, np.float32(limit) / norms), np.nan)
    return gradients * factors.astype(np.float32)
