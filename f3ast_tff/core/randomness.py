"""Randomness as a pure function of (seed, stream name, indices).

There is no state: a resumed run asks for the same (seed, stream, round) and gets the same draws as
an uninterrupted run. No two consumers share a stream.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

# Largest seed of a setting; `generator` takes any seed.
MAX_SEED = 2**63 - 1


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
    key = (zlib.crc32(stream.encode()), *indices)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def each_generator(
    seed: int, stream: str, *indices: int, last: Sequence[int]
) -> Iterator[np.random.Generator]:
    """Yields `generator(seed, stream, *indices, k)` for each k of `last`, in a third of the time.

    NumPy's SeedSequence is mixed once for the shared arguments. Every step yields the same object
    with a new state, so use a generator before asking for the next.

    Args:
        seed: See `generator`.
        stream: See `generator`.
        *indices: See `generator`.
        last: Last indices, for example clients, each at least 0 and below 2^32.
    """
    words = _words(seed)
    words += [0] * (_POOL - len(words)) + _words(zlib.crc32(stream.encode()))
    of_stream, constant = _pool(tuple(words))
    shared = list(of_stream)
    for index in indices:
        for word in _words(index):
            constant = _mix(shared, places=_PLACES, word=word, constant=constant)
    rng = np.random.Generator(np.random.PCG64(0))
    for words_of_seed in _seed_words(shared, constant, last).tolist():
        rng.bit_generator.state = _pcg64_state(words_of_seed)
        yield rng


# Constants of NumPy's SeedSequence (after O'Neill's seed_seq) and of PCG64.
_POOL, _U32, _U128 = 4, 2**32 - 1, 2**128 - 1
_INIT_A, _MULT_A, _INIT_B, _MULT_B = 0x43B0D7E5, 0x931E8875, 0x8B51F9DD, 0x58F38DED
_PLACES = range(_POOL)
_MIX_L, _MIX_R = 0xCA01F9DD, 0x4973F715
_PCG_MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645
_LOW, _HALF, _WORD = np.uint64(_U32), np.uint64(16), np.uint64(32)


def _words(number: int) -> list[int]:
    """The 32-bit words of a number, lowest first."""
    words = [number & _U32]
    while number := number >> 32:
        words.append(number & _U32)
    return words


def _hash(word: int, constant: int, multiplier: int) -> tuple[int, int]:
    """Returns the hash of a word, and the constant of the next hash."""
    following = constant * multiplier & _U32
    hashed = (word ^ constant) * following & _U32
    return hashed ^ hashed >> 16, following


def _mix(pool: list[int], places: Sequence[int], word: int, constant: int) -> int:
    """Mixes a word into places of the pool; returns the constant of the next hash."""
    for place in places:
        hashed, constant = _hash(word, constant, _MULT_A)
        mixed = (_MIX_L * pool[place] - _MIX_R * hashed) & _U32
        pool[place] = mixed ^ mixed >> 16
    return constant


@lru_cache
def _pool(words: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """The pool of a SeedSequence with at least `_POOL` words of entropy, and the next constant."""
    pool, constant = [], _INIT_A
    for word in words[:_POOL]:
        hashed, constant = _hash(word, constant, _MULT_A)
        pool.append(hashed)
    for source in range(_POOL):
        others = [place for place in _PLACES if place != source]
        constant = _mix(pool, places=others, word=pool[source], constant=constant)
    for word in words[_POOL:]:
        constant = _mix(pool, _PLACES, word, constant)
    return tuple(pool), constant


def _seed_words(shared: Sequence[int], constant: int, last: Sequence[int]) -> np.ndarray:
    """The 64-bit words that seed a PCG64 for each last index, `uint64 [len(last), 4]`.

    Args:
        shared: Pool before mixing in the last index.
        constant: Constant of the next hash.
        last: Last indices.
    """
    hashed = _hashes(np.array(last, np.uint64)[:, None], _constants(constant, _MULT_A, _POOL))
    pool = np.array(shared, np.uint64) * _MIX_L - hashed * _MIX_R & _LOW
    pool ^= pool >> _HALF
    words = _hashes(np.tile(pool, 2), _constants(_INIT_B, _MULT_B, 2 * _POOL))
    return words[:, ::2] | words[:, 1::2] << _WORD


def _hashes(words: np.ndarray, constants: np.ndarray) -> np.ndarray:
    """`_hash` of each row's words; `constants` holds the constant of each hash in order."""
    hashed: np.ndarray = (words ^ constants[:-1]) * constants[1:] & _LOW
    return hashed ^ hashed >> _HALF


@lru_cache
def _constants(first: int, multiplier: int, hashes: int) -> np.ndarray:
    """The constants of the first `hashes` hashes and of the next, `uint64 [hashes + 1]`."""
    constants = [first]
    for _ in range(hashes):
        constants.append(constants[-1] * multiplier & _U32)
    return np.array(constants, np.uint64)


def _pcg64_state(words: Sequence[int]) -> dict[str, object]:
    """The state of a PCG64 that is seeded with four 64-bit words."""
    high, low, high_increment, low_increment = words
    increment = ((high_increment << 64 | low_increment) << 1 | 1) & _U128
    state = (increment + (high << 64 | low)) & _U128
    state = (state * _PCG_MULTIPLIER + increment) & _U128
    return {
        "bit_generator": "PCG64",
        "state": {"state": state, "inc": increment},
        "has_uint32": 0,
        "uinteger": 0,
    }


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
