"""The five models of F3AST's Sec. IV-b, by their numbers."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.availability import (
    HomeDevicesConfig,
    IndependentAvailability,
    ScarceConfig,
    SmartphonesConfig,
    UnevenConfig,
)
from f3ast_tff.availability.five_models import LognormalConfig
from f3ast_tff.core.errors import ParameterError

N = 20_000


def built(config: LognormalConfig, num_clients: int, seed: int) -> IndependentAvailability:
    process = config.build(np.ones(num_clients), seed)
    assert isinstance(process, IndependentAvailability)
    return process


def test_scarce_mean_number_available() -> None:
    """50 clients over 1000 rounds: 50,000 draws with probability 0.2, standard error 0.0018."""
    process = ScarceConfig().build(np.ones(50), 1)
    assert process.q.tolist() == [0.2] * 50
    mean = np.mean([process.mask(t).mean() for t in range(1, 1001)])
    assert abs(mean - 0.2) < 5 * np.sqrt(0.2 * 0.8 / 50_000)


@pytest.mark.parametrize(
    ("config", "spread_is", "sigma"),
    [
        (HomeDevicesConfig, "variance", np.sqrt(0.5)),
        (HomeDevicesConfig, "sigma", 0.5),
        (SmartphonesConfig, "variance", 0.5),
        (SmartphonesConfig, "sigma", 0.25),
    ],
)
def test_q_is_a_lognormal_over_its_maximum(
    config: type[LognormalConfig], spread_is: str, sigma: float
) -> None:
    """log q_k = log t_k - log max t, so log q has the spread of log t: sigma, or sqrt(variance).

    The sample deviation has standard error sigma / sqrt(2 N), half a percent. log q is normal: the
    shares below mean +- sigma are Phi(+-1) = 0.8413 and 0.1587, standard error 0.0026.
    """
    log_q = np.log(built(config(spread_is), N, 1).q)
    assert log_q.max() == 0
    assert abs(log_q.std() / sigma - 1) < 5 / np.sqrt(2 * N)
    for side, share in ((1, 0.8413), (-1, 0.1587)):
        below = np.mean(log_q < log_q.mean() + side * sigma)
        assert abs(below - share) < 5 * 0.0026


def test_who_is_rare_depends_on_the_seed_and_the_process() -> None:
    first, again, other = (built(HomeDevicesConfig(), 100, seed).q for seed in (3, 3, 4))
    assert np.array_equal(first, again)
    assert np.argmin(first) != np.argmin(other)
    phones = built(SmartphonesConfig(), 100, 3).q
    assert abs(np.corrcoef(np.log(first), np.log(phones))[0, 1]) < 0.5


def wave(grid: str, rounds: int) -> np.ndarray:
    """Returns f_t = q_kt / q_k for t = 1..rounds, read off the client with q = 1."""
    process = built(SmartphonesConfig(smartphones_grid=grid), 10, 0)
    best = int(np.argmax(process.q))
    assert process.q[best] == 1
    return np.array([process.probabilities(t)[best] for t in range(1, rounds + 1)])


def test_hourly_grid_by_hand() -> None:
    """f at t = 2 pi j / 24: the sine is 0.2588 at j = 1, 1 at 6, 0 at 12, -1 at 18, 0 at 24."""
    f = wave("hourly", 24)
    expected = {1: 0.4 * 0.258819 + 0.5, 6: 0.9, 12: 0.5, 18: 0.1, 24: 0.5}
    for j, value in expected.items():
        assert f[j - 1] == pytest.approx(value, abs=1e-6)


def test_endpoints_grid_by_hand() -> None:
    """Point i of 24 on [0, 2 pi] is t = 2 pi i / 23; round t takes point t mod 24.

    Round 1 is point 1, sin(2 pi / 23) = 0.269797; rounds 23 and 24 are points 23 and 0, where the
    sine is 0. Round 6 is point 6, sin(12 pi / 23) = 0.997669: the peak of 0.9 is never reached.
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
    process = built(SmartphonesConfig(), 10, 0)
    np.testing.assert_allclose(process.probabilities(18), 0.1 * process.q)
    np.testing.assert_allclose(process.probabilities(6 + 24 * 41), 0.9 * process.q)


def test_q_is_inverse_to_the_share() -> None:
    """p = 0.1, 0.2, 0.3, 0.4 gives q = 0.1 / p = 1, 1/2, 1/3, 1/4."""
    np.testing.assert_allclose(
        UnevenConfig().build(np.array([0.1, 0.2, 0.3, 0.4]), 0).q, [1, 1 / 2, 1 / 3, 1 / 4]
    )


@pytest.mark.parametrize("share", [0.0, -0.1, float("nan")])
def test_share_that_has_no_inverse_is_refused(share: float) -> None:
    with pytest.raises(ParameterError, match=f"availability = uneven: .*above 0.* p_1 is {share}"):
        UnevenConfig().build(np.array([0.5, share]), 0)
