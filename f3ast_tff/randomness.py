"""Randomness as a pure function of (seed, stream name, indices).

Nothing here holds state: a resumed run asks for the same (seed, stream, round) and gets the same
draws as an uninterrupted one, and no two consumers share a stream.
"""

from __future__ import annotations

import zlib

import numpy as np


def generator(seed: int, stream: str, *indices: int) -> np.random.Generator:
    """Returns the generator of a named stream.

    Args:
        seed: Non-negative seed of the run (or of the data, or of the availability).
        stream: Name of the consumer, for example `"batches"`.
        *indices: Non-negative indices inside the stream, for example round and client.

    Returns:
        A fresh generator; equal arguments give equal draws, in any order of calls.

    Example:
        >>> first, again = generator(1, "batches", 7, 3), generator(1, "batches", 7, 3)
        >>> first.integers(100) == again.integers(100)
        True
    """
    key = (zlib.crc32(stream.encode()), *indices)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


# Of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX = ((30, np.uint64(0xBF58476D1CE4E5B9)), (27, np.uint64(0x94D049BB133111EB)))


def uniforms(seed: int, stream: str, ids: np.ndarray, *indices: int) -> np.ndarray:
    """Draws a number for each of some clients, the same whoever else is asked for.

    The number of client k is output k of SplitMix64, whose state `generator` draws: the cost grows
    with the clients asked for, not with all there are.

    Args:
        seed: See `generator`.
        stream: See `generator`.
        ids: Client ids, at least 0, `int`, of any shape; a repeated id gets one number.
        *indices: See `generator`, for example the round.

    Returns:
        Numbers in (0, 1), `float64`, of the shape of `ids`.
    """
    start = generator(seed, stream, *indices).integers(2**64, dtype=np.uint64)
    mixed = ids.astype(np.uint64) * _STEP + start
    for shift, factor in _MIX:
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * factor
    mixed ^= mixed >> np.uint64(31)
    # Middles of 2^52 equal parts of (0, 1).
    return ((mixed >> np.uint64(12)) + 0.5) * 2.0**-52


def normals(seed: int, stream: str, ids: np.ndarray, *indices: int) -> np.ndarray:
    """As `uniforms`, standard normal numbers (Box and Muller)."""
    first, second = uniforms(seed, stream, np.stack([2 * ids, 2 * ids + 1]), *indices)
    return np.sqrt(-2 * np.log(first)) * np.cos(2 * np.pi * second)
