"""Draws are a pure function of (seed, stream, indices)."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from f3ast_tff.core.randomness import generator, normals, uniforms

ARGUMENTS = st.tuples(
    st.integers(0, 2**40),
    st.sampled_from(["batches", "selection", "availability", "tff_keras_init"]),
    st.lists(st.integers(0, 2**31 - 1), max_size=3).map(tuple),
)


def draws(seed: int, stream: str, *indices: int) -> np.ndarray:
    return generator(seed, stream, *indices).integers(2**62, size=4)


@given(ARGUMENTS, ARGUMENTS)
def test_equal_arguments_and_only_those_give_equal_draws(
    one: tuple[int, str, tuple[int, ...]], other: tuple[int, str, tuple[int, ...]]
) -> None:
    """Four draws of 62 bits agree by chance with probability 2^-248."""
    first = draws(one[0], one[1], *one[2])
    assert np.array_equal(first, draws(one[0], one[1], *one[2]))
    assert np.array_equal(first, draws(other[0], other[1], *other[2])) == (one == other)


@pytest.mark.parametrize(
    "other",
    [
        (2, "batches", 7, 3),
        (1, "selection", 7, 3),
        (1, "batches", 3, 7),
        (1, "batches", 7),
        (1, "batches", 7, 3, 0),
    ],
)
def test_every_argument_counts(other: tuple[int, str, int]) -> None:
    assert not np.array_equal(draws(1, "batches", 7, 3), draws(*other))


def test_other_streams_in_between_change_nothing() -> None:
    """Using one generator changes no other: there is no global state."""
    before = draws(1, "selection", 5)
    generator(1, "selection", 4).random(1000)
    np.random.default_rng(1).random(1000)
    assert np.array_equal(before, draws(1, "selection", 5))


def test_numbers_of_clients_by_hand() -> None:
    """SplitMix64 from state 0 starts with these (Steele et al.; Java's SplittableRandom)."""
    first = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    start = int(generator(5, "x", 1).integers(2**64, dtype=np.uint64))
    inverse = pow(0x9E3779B97F4A7C15, -1, 2**64)
    # Ids whose states are 1, 2 and 3 steps from 0, for any start.
    ids = np.array([(step - start * inverse) % 2**64 for step in (1, 2, 3)], np.uint64)
    expected = [((value >> 12) + 0.5) / 2**52 for value in first]
    assert uniforms(5, "x", ids, 1).tolist() == expected


def test_numbers_of_clients_do_not_depend_on_who_is_asked() -> None:
    everybody = np.arange(1000)
    some = np.array([7, 999, 7, 0])
    for draw in (uniforms, normals):
        whole = draw(1, "delivery", everybody, 4)
        np.testing.assert_array_equal(draw(1, "delivery", some, 4), whole[some])
        assert not np.array_equal(whole, draw(1, "delivery", everybody, 5))
        assert len(np.unique(whole)) == 1000


def test_numbers_of_clients_have_their_law() -> None:
    """Over 10^5 numbers, Kolmogorov's distance exceeds 2.2 / sqrt(n) with probability 1e-4."""
    n = 100_000
    u = np.sort(uniforms(2, "x", np.arange(n)))
    assert np.abs(u - np.arange(n) / n).max() < 2.2 / np.sqrt(n)
    z = normals(2, "x", np.arange(n))
    assert abs(z.mean()) < 4.5 / np.sqrt(n) and abs(z.var() - 1) < 4.5 * np.sqrt(2 / n)
    assert abs(np.mean(z[1:] * z[:-1])) < 4.5 / np.sqrt(n)


@given(seed=st.integers(0, 2**70), indices=st.lists(st.integers(0, 2**40), max_size=3))
def test_a_generator_is_numpys(seed: int, indices: list[int]) -> None:
    """The state equals that of NumPy's own seeding, and so do the draws."""
    found = generator(seed, "batches", *indices)
    key = (zlib.crc32(b"batches"), *indices)
    numpys = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
    assert found.bit_generator.state == numpys.bit_generator.state
    np.testing.assert_array_equal(found.permutation(30), numpys.permutation(30))


@pytest.mark.parametrize("numbers", [(-1,), (-1, 0), (0, -1)])
def test_a_negative_number_is_refused(numbers: tuple[int, ...]) -> None:
    seed, *index = numbers
    with pytest.raises(ValueError, match="-1: seeds and indices must be at least 0"):
        generator(seed, "batches", *index)
