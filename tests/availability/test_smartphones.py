"""The sine wave of smartphones (App. C-B, reading R5)."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.availability import Smartphones


def wave(grid: str, rounds: int) -> np.ndarray:
    """Returns f_t = q_kt / q_k for t = 1..rounds; the client with q = 1 shows it."""
    process = Smartphones(10, seed=0, grid=grid)
    best = int(np.argmax(process.q))
    assert process.q[best] == 1
    return np.array([process.probabilities(t)[best] for t in range(1, rounds + 1)])


def test_hourly_grid_by_hand() -> None:
    """f at t = 2 pi j / 24: sin is 0.2588 at j = 1, 1 at 6, 0 at 12, -1 at 18, 0 at 24."""
    f = wave("hourly", 24)
    expected = {1: 0.4 * 0.258819 + 0.5, 6: 0.9, 12: 0.5, 18: 0.1, 24: 0.5}
    for j, value in expected.items():
        assert f[j - 1] == pytest.approx(value, abs=1e-6)


def test_endpoints_grid_by_hand() -> None:
    """Point i of 24 on [0, 2 pi] is t = 2 pi i / 23; round t takes point t mod 24.

    Round 1 is point 1, sin(2 pi / 23) = 0.269797; rounds 23 and 24 are points 23 and 0: both
    sin 0. Round 6 is point 6, sin(12 pi / 23) = 0.997669: the peak of 0.9 is never reached.
    """
    f = wave("endpoints", 48)
    assert f[0] == pytest.approx(0.4 * 0.269797 + 0.5, abs=1e-6)
    assert f[5] == pytest.approx(0.4 * 0.997669 + 0.5, abs=1e-6)
    assert f[22] == pytest.approx(0.5)
    assert f[23] == pytest.approx(0.5)
    assert f.max() < 0.9


@pytest.mark.parametrize("grid", ["hourly", "endpoints"])
def test_a_day_has_24_rounds(grid: str) -> None:
    f = wave(grid, 72)
    np.testing.assert_array_equal(f[:24], f[24:48])
    np.testing.assert_array_equal(f[:24], f[48:])
    assert len(np.unique(f[:24].round(9))) > 11


def test_every_client_follows_the_wave() -> None:
    process = Smartphones(10, seed=0)
    np.testing.assert_allclose(process.probabilities(18), 0.1 * process.q)
    np.testing.assert_allclose(process.probabilities(6 + 24 * 41), 0.9 * process.q)


def test_sharing_the_hour_correlates_clients() -> None:
    """Over a day cov(A_i, A_j) = q_i q_j var(f) = 0.08 q_i q_j, as f = 0.5 + 0.4 sin.

    M, the number available of N = 40, sums them: var(M) = sum_k f q_k (1 - f q_k) on average,
    plus 0.08 (sum q)^2. A sample variance over T = 2400 rounds of a bounded, sine-driven count is
    within 10% (its relative error is sqrt(2 / T) = 3% for a normal count); without the shared
    hour it would be a fraction of it.
    """
    process = Smartphones(40, seed=0)
    counts = np.array([process.mask(t).sum() for t in range(1, 2401)])
    q, f = process.q, 0.5 + 0.4 * np.sin(2 * np.pi * np.arange(24) / 24)
    alone = np.mean([np.sum(f_t * q * (1 - f_t * q)) for f_t in f])
    shared = 0.08 * q.sum() ** 2
    assert counts.var() == pytest.approx(alone + shared, rel=0.1)
    assert shared > alone


def test_unknown_grid_is_refused_and_the_known_are_named() -> None:
    with pytest.raises(ValueError, match="'daily'.*hourly, endpoints"):
        Smartphones(10, 0, grid="daily")
