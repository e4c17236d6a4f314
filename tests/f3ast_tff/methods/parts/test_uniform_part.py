"""A uniform part of the clients, and the factor that makes up for it."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.methods.parts.choosing import uniform_part
from f3ast_tff.methods.parts.constraint import RoundConstraint

IDS = np.array([1, 3, 4, 8, 9])


@pytest.mark.parametrize("k", [5, 100])
def test_everybody_where_k_allows(k: int) -> None:
    ids, factor = uniform_part(IDS, RoundConstraint(k), np.random.default_rng(0))
    assert ids.tolist() == IDS.tolist()
    assert factor == 1


@pytest.mark.parametrize(
    "constraint",
    [RoundConstraint(2), RoundConstraint(2, group=np.zeros(10, int), minimum=np.zeros(1, int))],
)
def test_each_is_as_likely_as_any_other(constraint: RoundConstraint) -> None:
    """Each is in with chance 2 / 5: z-test of 4000 draws, five clients, within 4.5 errors."""
    rng = np.random.default_rng(1)
    count = np.zeros(10)
    for _ in range(4000):
        ids, factor = uniform_part(IDS, constraint, rng)
        assert factor == 2.5
        assert len(set(ids)) == len(ids) == 2
        assert list(ids) == sorted(ids)
        count[ids] += 1
    assert count.sum() == count[IDS].sum()
    assert np.abs(count[IDS] / 4000 - 0.4).max() < 4.5 * np.sqrt(0.4 * 0.6 / 4000)


def test_a_budget_is_kept() -> None:
    constraint = RoundConstraint(5, cost=np.full(10, 2.0), budget=5.0)
    ids, factor = uniform_part(IDS, constraint, np.random.default_rng(2))
    assert (len(ids), factor) == (2, 2.5)


def test_nobody() -> None:
    ids, factor = uniform_part(np.zeros(0, np.int64), RoundConstraint(3), np.random.default_rng(0))
    assert (len(ids), ids.dtype, factor) == (0, np.int64, 1)
