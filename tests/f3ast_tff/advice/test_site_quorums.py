"""Weights of sites by quorum, against closed forms for independent times."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

from f3ast_tff.advice.site_quorums import SiteTimes, by_quorum


def sites(seconds: list[float], spread: float, presence: float, examples: list[int]) -> SiteTimes:
    ones = np.ones(len(seconds))
    names = tuple("ABCDEFGH"[: len(seconds)])
    times = np.array(seconds)
    return SiteTimes(names, times, spread * ones, presence * ones, np.array(examples, float))


@pytest.mark.parametrize(("ratio", "spread"), [(1.0, 0.3), (2.0, 0.5), (3.0, 1.0)])
def test_the_faster_of_two(ratio: float, spread: float) -> None:
    """log (B / A) is N(log ratio, 2 sigma^2): A is first with Phi(log ratio / (sigma 2^.5))."""
    (found,) = by_quorum(sites([1.0, ratio], spread, 1.0, [1, 5]), [1])
    expected = NormalDist().cdf(np.log(ratio) / (spread * 2**0.5))
    assert found.weight[0] == pytest.approx(expected, abs=0.015)
    assert found.arrives.sum() == pytest.approx(1)


def test_equal_sites_have_the_quorum_over_all() -> None:
    """By symmetry each of 8 is among the first 5 in 5/8 of the rounds, with weight 1/8."""
    (found,) = by_quorum(sites([9.0] * 8, 0.4, 1.0, [100] * 8), [5])
    np.testing.assert_allclose(found.arrives, 5 / 8, atol=0.015)
    np.testing.assert_allclose(found.weight, 1 / 8, atol=0.01)


def test_all_sites_and_failed_rounds() -> None:
    """Without noise: 8 s a round, weights by size; at 90% all four are there in .6561 of rounds.

    A failed round waits for the last that is there: 8 s unless D is away.
    """
    small = sites([1.0, 2.0, 4.0, 8.0], 0.0, 0.9, [10, 20, 30, 40])
    *_, found = by_quorum(small)
    assert found.succeeds == pytest.approx(0.9**4, abs=0.015)
    np.testing.assert_allclose(found.weight, [0.1, 0.2, 0.3, 0.4])
    away = 0.1 * (0.9 * 4 + 0.1 * 0.9 * 2 + 0.01 * 0.9)
    failed = 8 * (0.9 - 0.9**4) + away
    assert found.seconds == pytest.approx(8 + failed / 0.9**4, rel=0.02)
    assert not found.left_out.any()


def test_the_slowest_is_left_out() -> None:
    found = by_quorum(sites([1.0, 2.0, 4.0, 8.0], 0.1, 1.0, [1] * 4), [3])[0]
    assert found.left_out.tolist() == [False, False, False, True]
