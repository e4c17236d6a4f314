"""Draws for many clients: pieces change no draw, and byte draws have the right law."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from f3ast_tff.availability.draws import (
    LEAN_FROM,
    bernoulli,
    byte_levels,
    gather,
    lean,
    smallest_integers,
)

# More than two pieces, and no multiple of a byte draw.
N = 70_003


@pytest.mark.parametrize("factor", [None, 0.3])
def test_float64_draws_are_those_of_one_call(factor: float | None) -> None:
    q = np.random.default_rng(0).random(N)
    expected = np.random.default_rng(5).random(N) < q * (factor or 1)
    drawn = bernoulli(q, np.random.default_rng(5), factor=factor)
    assert np.array_equal(drawn, expected)


@pytest.mark.parametrize("factor", [None, 0.5])
@pytest.mark.parametrize("q", [0.0, 1e-4, 1 / 256, 0.2, 0.5, 0.9961, 0.9999, 1.0])
def test_byte_draws_have_the_probability_asked_for(q: float, factor: float | None) -> None:
    """Counts of 200,000 draws deviate by sqrt(n p (1 - p)); probabilities 0 and 1 are certain.

    1e-4 and 0.9999 lie in the first and the last 256th, where only the second draw decides.
    """
    n, p = 200_000, q * (factor or 1)
    drawn = bernoulli(np.full(n, q, np.float32), np.random.default_rng(3), factor=factor)
    assert abs(drawn.sum() - n * p) <= 5 * np.sqrt(n * p * (1 - p)) + 1e-9


def test_known_levels_change_nothing() -> None:
    q = np.random.default_rng(0).random(N).astype(np.float32)
    one, other = np.random.default_rng(1), np.random.default_rng(1)
    assert np.array_equal(bernoulli(q, one), bernoulli(q, other, byte_levels(q)))


def test_byte_draws_of_clients_and_rounds_are_independent() -> None:
    """Correlations of neighbours, and of two draws, over 70,003 clients: N(0, 1 / 70,003)."""
    q = np.full(N, 0.5, np.float32)
    one = bernoulli(q, np.random.default_rng(1)).astype(float)
    two = bernoulli(q, np.random.default_rng(2)).astype(float)
    for first, second in ((one[:-1], one[1:]), (one[:-8], one[8:]), (one, two)):
        assert abs(np.corrcoef(first, second)[0, 1]) < 5 / np.sqrt(N)


@given(st.floats(0, 1, width=32))
def test_level_and_rest_make_up_the_probability(q: float) -> None:
    level = int(byte_levels(np.array([q], np.float32))[0])
    assert 0 <= q * 256 - level <= 1


def test_no_client_at_all() -> None:
    for dtype in (np.float32, np.float64):
        assert bernoulli(np.zeros(0, dtype), np.random.default_rng(0)).shape == (0,)


def test_large_populations_are_held_in_half_the_memory() -> None:
    assert lean(np.zeros(10)).dtype == np.float64
    assert lean(np.zeros(10, np.float32)).dtype == np.float32
    assert lean(np.zeros(LEAN_FROM)).dtype == np.float32


def test_gather_is_indexing() -> None:
    rng = np.random.default_rng(0)
    table, index = rng.random(300) < 0.5, smallest_integers(rng.integers(300, size=N))
    assert index.dtype == np.uint16
    assert np.array_equal(gather(table, index), table[index])
