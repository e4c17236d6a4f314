"""Initial weights in NumPy, drawn from the distributions of Keras's initialisers."""

from __future__ import annotations

import numpy as np

# Standard deviation of a standard normal cut at two. Keras divides by it, so that a truncated
# normal has the wanted variance.
_TRUNCATED_DEVIATION = 0.87962566103423978


def glorot_uniform(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Draws U(-a, a) with a = sqrt(6 / (fan in + fan out)) (Glorot and Bengio, 2010)."""
    fan_in, fan_out = _fans(shape)
    return uniform(rng, shape, np.sqrt(6 / (fan_in + fan_out)))


def he_normal(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Draws N(0, 2 / fan in), cut at two standard deviations of the uncut normal (He, 2015)."""
    deviation = np.sqrt(2 / _fans(shape)[0]) / _TRUNCATED_DEVIATION
    draws = rng.standard_normal(shape)
    while True:
        outside = np.abs(draws) > 2
        if not outside.any():
            return (deviation * draws).astype(np.float32)
        draws[outside] = rng.standard_normal(np.count_nonzero(outside))


def normal(rng: np.random.Generator, shape: tuple[int, ...], deviation: float) -> np.ndarray:
    """Draws N(0, deviation^2)."""
    return (deviation * rng.standard_normal(shape)).astype(np.float32)


def uniform(rng: np.random.Generator, shape: tuple[int, ...], limit: float) -> np.ndarray:
    """Draws U(-limit, limit)."""
    return rng.uniform(-limit, limit, shape).astype(np.float32)


def orthogonal(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Draws a matrix with orthonormal rows (or columns, if fewer) (Saxe et al., 2013)."""
    rows, columns = shape
    q, r = np.linalg.qr(rng.standard_normal((max(shape), min(shape))))
    q = q * np.sign(np.diag(r))
    return (q if rows >= columns else q.T).astype(np.float32)


def lstm_bias(units: int) -> np.ndarray:
    """Returns the bias of an LSTM, `[4 units]`: ones for the forget gate, else zeros."""
    bias = np.zeros(4 * units, np.float32)
    bias[units : 2 * units] = 1
    return bias


def _fans(shape: tuple[int, ...]) -> tuple[int, int]:
    """Returns the inputs and outputs of a unit of a kernel `[..., inputs, outputs]`."""
    field = int(np.prod(shape[:-2]))
    return shape[-2] * field, shape[-1] * field
