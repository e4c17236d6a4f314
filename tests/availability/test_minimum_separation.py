"""After an available round a client is away for R rounds."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.availability import MinimumSeparation
from tests.availability.effects import Q, masks


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


def test_clients_are_independent() -> None:
    """Over 4000 rounds correlations deviate by little more than 1 / sqrt(4000)."""
    seen = masks(MinimumSeparation(np.full(6, 0.4), 1, 2), 4000).astype(float)
    off_diagonal = np.corrcoef(seen.T) - np.eye(6)
    assert np.abs(off_diagonal).max() < 5 * 1.2 / np.sqrt(4000)
    assert not MinimumSeparation(Q, 0).positively_correlated
    assert not MinimumSeparation(Q, 0).periodic
