"""Processes made of others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from f3ast_tff.availability import (
    AlternatingConfig,
    AvailabilityProcess,
    IndependentAvailability,
    Markov,
    Mix,
    Product,
    Table,
)
from f3ast_tff.availability.combined import draw_members, part_seed


def scarce(num_clients: int, seed: int, q: float = 0.2) -> IndependentAvailability:
    return IndependentAvailability(np.full(num_clients, q), seed)


def alternating(num_clients: int, ratio: float = 1.0) -> AvailabilityProcess:
    return AlternatingConfig(10, ratio).build(np.ones(num_clients), 0)


def test_each_client_follows_its_part() -> None:
    parts = [scarce(5, 0, 0.5), Table(np.array([[1, 0, 1, 0, 1]])), alternating(5)]
    process = Mix(parts, np.array([0, 1, 2, 1, 0]))
    for t in range(1, 40):
        a, b, c = (part.mask(t) for part in parts)
        assert process.mask(t).tolist() == [a[0], b[1], c[2], b[3], a[4]]
    np.testing.assert_allclose(process.stationary, [0.5, 0, 0.5, 0, 0.5])
    assert process.periodic


def test_stationary_is_not_known_where_a_part_has_none() -> None:
    unknown = Product([alternating(2), alternating(2)])
    assert Mix([scarce(2, 0), unknown], np.array([0, 1])).stationary is None


@given(
    st.lists(st.floats(0, 10), min_size=1, max_size=5).filter(lambda s: sum(s) > 0.01),
    st.integers(1, 200),
)
def test_groups_are_as_large_as_their_shares(shares: list[float], n: int) -> None:
    members = draw_members(shares, n, seed=0)
    sizes = np.bincount(members, minlength=len(shares))
    assert sizes.sum() == n
    np.testing.assert_allclose(sizes, n * np.array(shares) / sum(shares), atol=1)


def test_members_depend_on_the_seed() -> None:
    first = draw_members([1, 1], 50, 1)
    assert np.array_equal(first, draw_members([1, 1], 50, 1))
    assert not np.array_equal(first, draw_members([1, 1], 50, 2))


def test_available_where_all_are() -> None:
    one, two = Table(np.array([[1, 1, 0, 0]])), Table(np.array([[1, 0, 1, 0]]))
    assert Product([one, two]).mask(1).tolist() == [True, False, False, False]


def test_frequency_is_the_product_for_parts_with_their_own_seeds() -> None:
    """0.5 x 0.6 over 40 clients and 1000 rounds, standard error 0.0023.

    A shared seed would give 0.5.
    """
    parts = [scarce(40, part_seed(1, 0), 0.5), scarce(40, part_seed(1, 1), 0.6)]
    process = Product(parts)
    seen = np.mean([process.mask(t).mean() for t in range(1, 1001)])
    assert abs(seen - 0.3) < 5 * np.sqrt(0.3 * 0.7 / 40_000)
    assert process.stationary == pytest.approx(np.full(40, 0.3))


def test_stationary_with_one_periodic_part() -> None:
    parts = [Markov(np.full(4, 0.5), np.full(4, 0.5), 1), alternating(4, ratio=3.0)]
    assert Product(parts).stationary == pytest.approx([0.125, 0.125, 0.375, 0.375])


def test_no_stationary_for_two_periodic_parts() -> None:
    """Two alternating processes in opposite phase: each half of the time, never together."""
    parts = [alternating(2), Table(np.repeat(np.eye(2)[::-1], 10, axis=0))]
    assert not any(Product(parts).mask(t).any() for t in range(1, 41))
    assert Product(parts).stationary is None
    assert Product([Product(parts), scarce(2, 0)]).stationary is None
