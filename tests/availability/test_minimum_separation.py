"""After an available round a client is away for R rounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from f3ast_tff.availability import MinimumSeparation

Q = np.array([0.0, 0.05, 0.2, 0.5, 0.9, 1.0])


def masks(process: MinimumSeparation, rounds: int) -> np.ndarray:
    return np.array([process.mask(t) for t in range(1, rounds + 1)])


@settings(max_examples=25)
@given(st.lists(st.integers(1, 60), min_size=1, max_size=10), st.integers(0, 6), st.integers(0, 3))
def test_any_order_of_rounds_gives_the_same_masks(
    order: list[int], separation: int, seed: int
) -> None:
    """Continuing from the last mask and finding a past round agree."""
    in_order = masks(MinimumSeparation(Q, seed, separation), 60)
    process = MinimumSeparation(Q, seed, separation)
    for t in order:
        assert np.array_equal(process.mask(t), in_order[t - 1])


@pytest.mark.parametrize("separation", [1, 4])
def test_never_twice_within_the_separation(separation: int) -> None:
    """The shortest gap is R + 1, with R rounds away between."""
    seen = masks(MinimumSeparation(np.full(30, 0.4), 1, separation), 600)
    gaps = np.concatenate([np.diff(np.flatnonzero(column)) for column in seen.T])
    assert gaps.min() == separation + 1


def test_gaps_are_geometric() -> None:
    """A gap is R + G, G >= 1 geometric: P(G = 1) = q, P(G = 2) = q (1 - q).

    Frequencies of m gaps deviate by sqrt(p (1 - p) / m).
    """
    q, separation = 0.3, 3
    seen = masks(MinimumSeparation(np.full(60, q), 2, separation), 1500)
    gaps = np.concatenate([np.diff(np.flatnonzero(column)) for column in seen.T]) - separation
    for size, p in ((1, q), (2, q * (1 - q)), (3, q * (1 - q) ** 2)):
        assert abs(np.mean(gaps == size) - p) < 5 * np.sqrt(p * (1 - p) / len(gaps))


@pytest.mark.parametrize("separation", [0, 1, 5, 20])
def test_long_run_frequency(separation: int) -> None:
    """pi = q / (1 + R q), and the count over T rounds is that of a renewal process.

    Gaps have mean mu = R + 1 / q and variance s^2 = (1 - q) / q^2. So the count's long-run variance
    is T s^2 / mu^3. There are 20 independent clients per q; the bound has 1 more for the ends.
    """
    rounds, clients = 3000, 20
    process = MinimumSeparation(np.repeat(Q, clients), 3, separation)
    counts = masks(process, rounds).sum(axis=0).reshape(len(Q), clients)
    np.testing.assert_allclose(process.stationary[::clients], Q / (1 + separation * Q))
    assert counts[0].max() == 0
    for q, count in zip(Q[1:], counts[1:]):
        mu, variance = separation + 1 / q, (1 - q) / q**2
        bound = 5 * np.sqrt(rounds * variance / mu**3 / clients) + 1
        assert abs(count.mean() - rounds / mu) < bound


@pytest.mark.parametrize("q", [0.3, 1.0])
def test_every_round_has_the_stationary_law(q: float) -> None:
    """20,000 clients, R = 4: 0.3 / 2.2 and 1 / 5 from round 1 on, without warming up."""
    pi = q / (1 + 4 * q)
    process = MinimumSeparation(np.full(20_000, q), 0, 4)
    for t in (1, 2, 3, 6, 20):
        assert abs(process.mask(t).mean() - pi) < 5 * np.sqrt(pi * (1 - pi) / 20_000)


def test_clients_are_independent() -> None:
    """Over 4000 rounds correlations deviate by little more than 1 / sqrt(4000)."""
    seen = masks(MinimumSeparation(np.full(6, 0.4), 1, 2), 4000).astype(float)
    off_diagonal = np.corrcoef(seen.T) - np.eye(6)
    assert np.abs(off_diagonal).max() < 5 * 1.2 / np.sqrt(4000)
    assert not MinimumSeparation(Q, 0).positively_correlated
    assert not MinimumSeparation(Q, 0).periodic


def test_a_far_round_is_found_without_all_before() -> None:
    """q = 0.1, R = 5: five refusals in a row come soon; round 10^9 costs as much as 10^3."""
    process = MinimumSeparation(np.full(50, 0.1), 1, 5)
    expected = process.mask(10**9)
    process.mask(10**9 - 1)
    assert np.array_equal(process.mask(10**9), expected)
