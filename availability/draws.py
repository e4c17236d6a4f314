"""Independent Bernoulli draws for up to tens of millions of clients."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

# Arrays are processed in pieces that stay in a core's cache.
_PIECE = 1 << 15
# Number of clients from which on probabilities are float32 and drawn byte by byte.
LEAN_FROM = 1 << 20


def lean(values: np.ndarray) -> np.ndarray:
    """Returns a copy: `float32` if given as such or from `LEAN_FROM` entries on, else `float64`."""
    small = values.dtype == np.float32 or len(values) >= LEAN_FROM
    return np.array(values, np.float32 if small else np.float64)


def pieces(n: int) -> Iterator[slice]:
    """Returns the slices in which 0..n-1 is processed."""
    return (slice(start, min(start + _PIECE, n)) for start in range(0, n, _PIECE))


def byte_levels(q: np.ndarray, scale: float | np.float32 = 256) -> np.ndarray:
    """Returns the largest byte at most scale times q, `uint8`; `q` is `float32` in [0, 1]."""
    scaled = q * np.float32(scale)
    return np.minimum(scaled, np.float32(255), out=scaled).astype(np.uint8)


def bernoulli(
    q: np.ndarray,
    rng: np.random.Generator,
    levels: np.ndarray | None = None,
    factor: float | None = None,
) -> np.ndarray:
    """Draws independent booleans, entry k true with probability q_k, times the factor if given.

    `float64`: `rng.random(n) < q`, draw for draw. `float32`: with a random byte u per entry, the
    result is true if u / 256 < floor(256 q) / 256. The one entry in 256 with equality is decided by
    a second draw against the remainder of 256 q. So the probability is exactly q_k, at one byte per
    entry.

    Args:
        q: Probabilities, `float64 [n]` or `float32 [n]`, in [0, 1]; not checked.
        rng: Source of the draws.
        levels: `byte_levels(q)`, if known; only for `float32` without a factor.
        factor: Factor of all probabilities, in [0, 1].

    Returns:
        `bool [n]`.
    """
    answers = np.empty(len(q), bool)
    if q.dtype != np.float32:
        buffer = np.empty(min(_PIECE, len(q)))
        for piece in pieces(len(q)):
            draws = rng.random(out=buffer[: piece.stop - piece.start])
            chance = q[piece] if factor is None else q[piece] * factor
            np.less(draws, chance, out=answers[piece])
        return answers
    scale = np.float32(256 * (1 if factor is None else factor))
    ties, rests = [], []
    for piece in pieces(len(q)):
        size = piece.stop - piece.start
        raw = rng.bit_generator.random_raw((size + 7) // 8)
        draws = raw.astype("<u8", copy=False).view(np.uint8)[:size]
        level = byte_levels(q[piece], scale) if levels is None else levels[piece]
        np.less(draws, level, out=answers[piece])
        tie = np.flatnonzero(draws == level)
        ties.append(tie + piece.start)
        rests.append(q[piece][tie] * scale - level[tie])
    if ties:
        tie = np.concatenate(ties)
        answers[tie] = rng.random(len(tie)) < np.concatenate(rests)
    return answers


def gather(table: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Returns `table[index]`; fast for a small table and a long index of a small dtype.

    Args:
        table: `bool [m]`.
        index: Integers in 0..m-1, `[n]`; not checked.

    Returns:
        `bool [n]`.
    """
    result = np.empty(len(index), bool)
    for piece in pieces(len(index)):
        np.take(table, index[piece], out=result[piece], mode="clip")
    return result


def smallest_integers(values: np.ndarray) -> np.ndarray:
    """Returns a copy in the smallest unsigned dtype that holds the values, which are at least 0."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))
