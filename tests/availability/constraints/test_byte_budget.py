"""Updates of a round within a number of bytes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from f3ast_tff.availability import ByteBudget
from f3ast_tff.core.errors import ParameterError


def test_the_largest_k_counts_the_smallest_updates_and_the_mean_k_average_ones() -> None:
    """Sizes 4 5 3 1 2, budgets 9, 12: 1 + 2 + 3 + 4 fit into 12; of size 3, the mean, 3 and 4."""
    constraint = ByteBudget((9, 12), np.array([4, 5, 3, 1, 2]))
    assert [constraint.limit(t).budget for t in (1, 2, 3)] == [9, 12, 9]
    assert [constraint.limit(t).k for t in (1, 2)] == [constraint.largest_k] * 2 == [4, 4]
    assert constraint.mean_k == 3.5
    assert ByteBudget((9, 90), np.array([3, 3, 3, 3])).mean_k == 3.5


@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=20),
    st.lists(st.integers(0, 200), min_size=1, max_size=3),
    st.data(),
)
def test_what_is_admitted_keeps_within_the_budget(
    sizes: list[int], extra: list[int], data: st.DataObject
) -> None:
    """And is maximal: nobody left out would still fit."""
    budgets = tuple(max(sizes) + more for more in extra)
    constraint = ByteBudget(budgets, np.array(sizes))
    ranked = np.array(data.draw(st.permutations(range(len(sizes)))))
    for t in range(1, 5):
        admitted = constraint.limit(t).admit(ranked)
        left = budgets[(t - 1) % len(budgets)] - sum(sizes[k] for k in admitted)
        assert left >= 0
        assert all(sizes[k] > left for k in set(ranked) - set(admitted))
        assert 1 <= len(admitted) <= constraint.largest_k


def test_a_client_that_never_fits_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"communication = bytes:10,3: .*largest update, 4"):
        ByteBudget((10, 3), np.array([4, 2]))
    with pytest.raises(ParameterError, match="communication = bytes:: "):
        ByteBudget((), np.array([4, 2]))


@pytest.mark.parametrize("sizes", [[], [0, 1], [[1]], [float("nan")]])
def test_sizes_that_are_none_are_refused(sizes: list) -> None:
    with pytest.raises(ValueError, match="sizes"):
        ByteBudget((10,), np.array(sizes))
