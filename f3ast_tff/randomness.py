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
