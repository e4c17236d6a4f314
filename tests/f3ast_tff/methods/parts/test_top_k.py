"""The one-pass choice of the K largest, with blocks made so small that there are several."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from f3ast_tff.methods.parts import choosing
from f3ast_tff.methods.parts.choosing import BLOCK, ranked, top_k

# 1 - 1e-5 quantile of chi-square with 9 degrees of freedom.
CHI_SQUARE_9 = 39.3


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "BLOCK", 4)


def pick(
    utility: np.ndarray, available: np.ndarray, k: int, rng: np.random.Generator | None
) -> list[int]:
    ids = top_k(lambda part: utility[part], available, k, rng)
    assert ids.dtype == np.int64
    return ids.tolist()


@given(
    st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=40),
    st.integers(1, 12),
    st.one_of(st.none(), st.integers(0, 2**32)),
)
def test_as_good_as_sorting_all(clients: list[tuple[int, bool]], k: int, seed: int | None) -> None:
    """Few values, so that many tie, over up to ten blocks."""
    utility, mask = np.array(clients).T.astype(float)
    available = mask.astype(bool)
    rng = None if seed is None else np.random.default_rng(seed)
    picked = pick(utility, available, k, rng)
    expected = ranked(np.flatnonzero(available), utility, None)[:k].tolist()
    assert len(set(picked)) == len(picked)
    assert available[picked].all()
    assert utility[picked].tolist() == utility[expected].tolist()
    if seed is None:
        assert picked == expected


@pytest.mark.parametrize("k", [1, 3, 7])
def test_each_of_those_that_tie_is_as_likely(k: int) -> None:
    """Client 5 is above; of ten that tie, over six blocks, k - 1 places are drawn at random.

    A place is a draw without replacement, so the chi-square statistic of the ten counts, scaled by
    9 / (10 - places) as their covariance asks, has 9 degrees of freedom.
    """
    utility = np.ones(23)
    utility[[1, 2, 8, 9, 10, 11, 12, 13, 18]] = 0.5
    utility[5] = 2.0
    available = np.ones(23, bool)
    available[[0, 22, 21]] = False
    tied = np.flatnonzero((utility == 1) & available)
    assert len(tied) == 10
    rng, total, counts = np.random.default_rng(3), 4000, Counter()
    for _ in range(total):
        picked = pick(utility, available, k, rng)
        assert picked[0] == 5
        counts.update(picked[1:])
    assert set(counts) <= set(tied.tolist())
    places = k - 1
    if places:
        mean = total * places / 10
        statistic = sum((counts[i] - mean) ** 2 / mean for i in tied.tolist()) * 9 / (10 - places)
        assert statistic < CHI_SQUARE_9


def test_utilities_in_rising_order_and_few_available() -> None:
    rising = np.arange(50.0)
    assert pick(rising, np.ones(50, bool), 3, None) == [49, 48, 47]
    assert pick(rising, rising % 20 == 7, 5, None) == [47, 27, 7]
    assert pick(rising, np.zeros(50, bool), 5, np.random.default_rng(0)) == []


def test_many_ties_over_real_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mean id of 1000 draws from 200,000 has a standard error of 57,735 / sqrt(1000)."""
    monkeypatch.setattr(choosing, "BLOCK", BLOCK)
    n = 200_000
    rng = np.random.default_rng(5)
    picked = pick(np.ones(n), np.ones(n, bool), 1000, rng)
    assert len(set(picked)) == 1000
    assert abs(np.mean(picked) - n / 2) < 4.5 * n / np.sqrt(12 * 1000)
    assert abs(np.std(picked) - n / np.sqrt(12)) < 0.1 * n / np.sqrt(12)
