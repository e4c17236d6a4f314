"""Constraint on the bytes of a round's updates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from f3ast_tff.availability import ByteBudget
from f3ast_tff.core.errors import ParameterError


def bound(budgets: str, sizes: list[int]) -> ByteBudget:
    return ByteBudget(budgets).build(len(sizes), update_bytes=np.array(sizes))


def test_the_largest_k_counts_the_smallest_updates_and_the_mean_k_average_ones() -> None:
    """Sizes 4 5 3 1 2 have mean 3. Budget 12 fits 1 + 2 + 3 + 4, so the largest K is 4.

    Budgets 9 and 12 fit 3 and 4 updates of size 3, so the mean K is 3.5.
    """
    constraint = bound("9,12", [4, 5, 3, 1, 2])
    assert [constraint.limit(t).budget for t in (1, 2, 3)] == [9, 12, 9]
    assert [constraint.limit(t).k for t in (1, 2)] == [constraint.largest_k] * 2 == [4, 4]
    assert constraint.mean_k == 3.5
    assert bound("9,90", [3, 3, 3, 3]).mean_k == 3.5


@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=20),
    st.lists(st.integers(0, 200), min_size=1, max_size=3),
    st.data(),
)
def test_what_is_admitted_keeps_within_the_budget(
    sizes: list[int], extra: list[int], data: st.DataObject
) -> None:
    """Admission is maximal too: no client left out would still fit."""
    budgets = [max(sizes) + more for more in extra]
    constraint = bound(",".join(map(str, budgets)), sizes)
    ranked = np.array(data.draw(st.permutations(range(len(sizes)))))
    for t in range(1, 5):
        admitted = constraint.limit(t).admit(ranked)
        left = budgets[(t - 1) % len(budgets)] - sum(sizes[k] for k in admitted)
        assert left >= 0
        assert all(sizes[k] > left for k in set(ranked) - set(admitted))
        assert 1 <= len(admitted) <= constraint.largest_k


@pytest.mark.parametrize(
    ("budgets", "sizes", "allowed"),
    [
        ("10,3", [4, 2], "each budget must hold the largest update, 4 bytes"),
        ("10", [40, 40], "each budget must hold the largest update, 40 bytes"),
        ("10", [0, 1], "no sizes of updates are known here"),
        ("", [4, 2], "must be bytes:BUDGET,..."),
    ],
)
def test_budgets_that_hold_no_update_are_refused(
    budgets: str, sizes: list[int], allowed: str
) -> None:
    with pytest.raises(ParameterError) as error:
        bound(budgets, sizes)
    assert str(error.value) == f"constraint = bytes:{budgets}: {allowed}"


def test_a_budget_is_that_of_the_model() -> None:
    found = ByteBudget("5e6,90").build(3, update_bytes=30)
    assert (found.budgets, found.sizes.tolist()) == ((5_000_000, 90), [30, 30, 30])
