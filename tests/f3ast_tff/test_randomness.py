"""Draws are a pure function of (seed, stream, indices)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from f3ast_tff.randomness import generator

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
    """A generator that was used must not move any other: there is no global state."""
    before = draws(1, "selection", 5)
    generator(1, "selection", 4).random(1000)
    np.random.default_rng(1).random(1000)
    assert np.array_equal(before, draws(1, "selection", 5))


def test_negative_seed_is_refused() -> None:
    with pytest.raises(ValueError):
        generator(-1, "batches")
