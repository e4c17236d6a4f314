"""Each client follows one of several processes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from f3ast_tff.availability import Alternating, Mix, Product, Scarce, Table
from f3ast_tff.availability.mix import draw_members
from f3ast_tff.errors import ParameterError


def test_each_client_follows_its_part() -> None:
    parts = [Scarce(5, 0, 0.5), Table(np.array([[1, 0, 1, 0, 1]])), Alternating(5)]
    process = Mix(parts, np.array([0, 1, 2, 1, 0]))
    for t in range(1, 40):
        a, b, c = (part.mask(t) for part in parts)
        assert process.mask(t).tolist() == [a[0], b[1], c[2], b[3], a[4]]
    np.testing.assert_allclose(process.stationary, [0.5, 0, 0.5, 0, 0.5])
    assert process.periodic


def test_stationary_is_not_known_where_a_part_has_none() -> None:
    unknown = Product([Alternating(2), Alternating(2)])
    assert Mix([Scarce(2, 0), unknown], np.array([0, 1])).stationary is None


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


@pytest.mark.parametrize("shares", [[1, float("nan")], [1, -1], [0, 0], [float("inf"), 1]])
def test_shares_that_are_none_are_refused(shares: list[float]) -> None:
    with pytest.raises(ParameterError, match="mix_shares = .*finite, at least 0"):
        draw_members(shares, 10, 0)


@pytest.mark.parametrize("members", [[0, 1], [0, 1, 2], [0, -1, 1]])
def test_a_client_without_a_part_is_refused(members: list[int]) -> None:
    with pytest.raises(ValueError, match=r"3 integers in 0\.\.1"):
        Mix([Scarce(3, 0), Scarce(3, 1)], np.array(members))
