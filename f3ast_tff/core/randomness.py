"""Randomness as a pure function of (seed, stream name, indices).

There is no state: a resumed run asks for the same (seed, stream, round) and gets the same draws as
an uninterrupted run. No two consumers share a stream.
"""

from __future__ import annotations

import zlib
from functools import lru_cache
from typing import Any

import numpy as np

# Largest seed of a setting; `generator` takes any seed.
MAX_SEED = 2**63 - 1
# Words to which NumPy's SeedSequence pads a seed with a spawn key, and the largest word.
_POOL, _U32 = 4, 2**32 - 1


def generator(seed: int, stream: str, *indices: int) -> np.random.Generator:
    """Returns the generator of a named stream.

    Args:
        seed: Non-negative seed of the run (or of the data, or of the availability).
        stream: Name of the consumer, for example `"batches"`.
        *indices: Non-negative indices inside the stream, for example round and client.

    Returns:
        A fresh generator; equal arguments give equal draws, in any order of calls.

    Examples:
        >>> from f3ast_tff.core.randomness import generator
        >>> first, again = generator(1, "batches", 7, 3), generator(1, "batches", 7, 3)
        >>> first.bytes(4) == again.bytes(4)
        True
    """
    words = [*_stream_words(int(seed), stream)]
    for index in indices:
        words += _words(int(index))
    # SeedSequence(seed, spawn_key=(stream, *indices)) in a third less time.
    seeds = np.random.SeedSequence(np.array(words, np.uint32))
    return np.random.Generator(np.random.PCG64(seeds))


@lru_cache
def _stream_words(seed: int, stream: str) -> tuple[int, ...]:
    of_seed = _words(seed)
    padding = [0] * (_POOL - len(of_seed))
    return (*of_seed, *padding, zlib.crc32(stream.encode()))


def _words(number: int) -> list[int]:
    """The 32-bit words of a number, lowest first."""
    if number < 0:
        raise ValueError(f"{number}: seeds and indices must be at least 0")
    words = [number & _U32]
    while number := number >> 32:
        words.append(number & _U32)
    return words


# Constants of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX = ((30, np.uint64(0xBF58476D1CE4E5B9)), (27, np.uint64(0x94D049BB133111EB)))


def uniforms(seed: int, stream: str, ids: np.ndarray, *indices: int) -> np.ndarray:
    """Draws a number for each client in `ids`; it does not depend on the other ids.

    The number of client k is output k of SplitMix64, whose state `generator` draws. So the cost
    grows with the number of ids, not with the number of all clients.

    Args:
        seed: See `generator`.
        stream: See `generator`.
        ids: Client ids, at least 0, `int`, of any shape; repeated ids get equal numbers.
        *indices: See `generator`, for example the round.

    Returns:
        Numbers in (0, 1), `float64`, of the shape of `ids`.
    """
    start = generator(seed, stream, *indices).integers(2**64, dtype=np.uint64)
    mixed = ids.astype(np.uint64) * _STEP + start
    for shift, factor in _MIX:
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * factor
    mixed ^= mixed >> np.uint64(31)
    # Midpoints of 2^52 equal parts of (0, 1).
    return ((mixed >> np.uint64(12)) + 0.5) * 2.0**-52


def normals(seed: int, stream: str, ids: np.ndarray, *indices: int) -> np.ndarray:
    """Draws standard normal numbers, as `uniforms` draws uniform ones (Box and Muller)."""
    first, second = uniforms(seed, stream, np.stack([2 * ids, 2 * ids + 1]), *indices)
    return np.sqrt(-2 * np.log(first)) * np.cos(2 * np.pi * second)


def mixed_words(words: Any) -> Any:
    """A permutation of 32-bit words, `uint32` of NumPy or JAX, that changes half of their bits.

    For draws inside a compiled program, as the same numbers come from both (Wellons' `lowbias32`).
    """
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        words = (words ^ (words >> np.uint32(shift))) * np.uint32(factor)
    return words ^ (words >> np.uint32(16))
