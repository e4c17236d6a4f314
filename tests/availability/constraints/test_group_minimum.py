"""A minimum number of clients per group."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from f3ast_tff.availability import CycleK, FixedK, GroupMinimum


def test_by_hand() -> None:
    """K = 3, at least one client of group 1: the third best gives way to the best of group 1."""
    constraint = GroupMinimum(FixedK(clients_per_round=3), np.array([0, 0, 0, -1, 1, 1]), (0, 1))
    assert sorted(constraint.limit(1).admit(np.arange(6))) == [0, 1, 4]
    assert constraint.limit(1).admit(np.array([5, 0, 1, 2])).tolist() == [5, 0, 1]
    assert constraint.limit(1).admit(np.array([2, 0])).tolist() == [2, 0]
    assert constraint.limit(1).k == constraint.largest_k == constraint.mean_k == 3


@given(st.data())
def test_greedy_is_the_best_of_all_feasible_sets(data: st.DataObject) -> None:
    """Compared by brute force with all sets of size min(K, available) that meet the minimums."""
    n = data.draw(st.integers(2, 8))
    group = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    k = data.draw(st.integers(1, n))
    minimum = tuple(data.draw(st.integers(0, k // 3)) for _ in range(3))
    utility = np.array(data.draw(st.permutations(range(1, n + 1))), float)
    available = np.array(sorted(data.draw(st.sets(st.integers(0, n - 1), min_size=1))))
    needed = [min(m, int(np.sum(group[available] == g))) for g, m in enumerate(minimum)]

    ranked = available[np.argsort(-utility[available])]
    picked = GroupMinimum(FixedK(clients_per_round=k), group, minimum).limit(1).admit(ranked)
    best = max(
        utility[list(chosen)].sum()
        for chosen in combinations(available, min(k, len(available)))
        if all(np.sum(group[list(chosen)] == g) >= m for g, m in enumerate(needed))
    )
    assert len(set(picked)) == len(picked) == min(k, len(available))
    assert utility[picked].sum() == best


def test_in_a_poor_round_the_first_groups_come_first() -> None:
    """K_t is 1, 2, 3 in turn, with a minimum of one client for each of three groups."""
    constraint = GroupMinimum(CycleK("1,2,3"), np.array([0, 1, 2, 2]), (1, 1, 1))
    ranked = np.array([3, 2, 1, 0])
    admitted = [constraint.limit(t).admit(ranked).tolist() for t in (1, 2, 3)]
    assert admitted == [[0], [1, 0], [3, 1, 0]]


@pytest.mark.parametrize(
    ("group", "minimum", "message"),
    [
        ([0, 1], (2, 2), "group_minimum = 2,2: .*at most K, 3"),
        ([0, 1], (-1, 2), "group_minimum = -1,2"),
        ([0, 2], (1, 1), r"integers in -1\.\.1"),
    ],
)
def test_minimums_that_never_fit_are_refused(
    group: list[int], minimum: tuple[int, int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        GroupMinimum(FixedK(clients_per_round=3), np.array(group), minimum)
