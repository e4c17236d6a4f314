"""F3AST's five models and FedAWE's four dynamics, by their numbers."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.availability import (
    HomeDevicesConfig,
    IndependentAvailability,
    NonStationary,
    ScarceConfig,
    SmartphonesConfig,
    UnevenConfig,
)
from f3ast_tff.availability.five_models import LognormalConfig
from f3ast_tff.availability.non_stationary import (
    InterleavedSineConfig,
    SineConfig,
    StaircaseConfig,
    StationaryConfig,
)
from f3ast_tff.core.errors import ParameterError
from tests.availability.effects import masks

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


ROUNDS = 2000
BASE = np.array([1.0, 0.8, 0.24, 0.14, 0.05, 0.0])
ONE_CLASS = np.ones((1, 1))


def factors(config: StationaryConfig) -> np.ndarray:
    """Returns one period of f_t, read off the probabilities of a single-class client."""
    process = config.build_labelled(ONE_CLASS, 0)
    period = getattr(config, "staircase_period", getattr(config, "sine_period", 0))
    return np.array([process.probabilities(t)[0] for t in range(1, period + 1)]) / process.q[0]


STAIRCASE, SINE = factors(StaircaseConfig()), factors(SineConfig())
DYNAMICS = {
    "staircase": NonStationary(BASE, 1, STAIRCASE),
    "sine": NonStationary(BASE, 1, SINE),
    "interleaved_sine": NonStationary(BASE, 1, SINE, cut=0.1),
}


def test_probabilities_are_inner_products_with_phi() -> None:
    """Single-class clients have phi itself; a client with half of two classes has their mean."""
    labels = np.array([[1, 0, 0, 0], [0, 0, 0, 1], [0.5, 0, 0, 0.5]])
    p = StationaryConfig().base(labels, 2)
    assert p[2] == pytest.approx((p[0] + p[1]) / 2)
    assert not np.array_equal(p, StationaryConfig().base(labels, 3))
    halved = StationaryConfig(0.25).base(labels, 2)
    np.testing.assert_allclose(halved[:2], [p[0], p[1] / 2])


def test_law_of_phi() -> None:
    """phi is U(0, 1) for classes 0..2 of 5, and U(0, 0.5) for classes 3 and 4.

    Means are 1/2 and 1/4. Over 2000 seeds the first deviates by 1 / sqrt(12 x 2000) = 0.0065, the
    second by half of that.
    """
    phi = np.array([StationaryConfig().base(np.eye(5), seed) for seed in range(2000)])
    assert np.all(np.abs(phi[:, :3].mean(axis=0) - 0.5) < 5 * 0.0065)
    assert np.all(np.abs(phi[:, 3:].mean(axis=0) - 0.25) < 5 * 0.0033)
    assert phi[:, :3].max() > 0.95
    assert 0.45 < phi[:, 3:].max() <= 0.5


def test_factors_by_hand() -> None:
    """Staircase of 20 rounds: 1 for ten, 0.4 for ten.

    The sine is 0, 1, 0, -1 in rounds 1, 6, 11, 16.
    """
    np.testing.assert_allclose(STAIRCASE, [1.0] * 10 + [0.4] * 10)
    np.testing.assert_allclose(factors(StaircaseConfig(0.5, 3, 0.5)), [1.0, 1.0, 0.5])
    np.testing.assert_allclose(SINE[[0, 5, 10, 15]], [0.7, 1.0, 0.7, 0.4])
    np.testing.assert_allclose(factors(SineConfig(0.5, 4, 0.5)), [0.5, 1.0, 0.5, 0.0], atol=1e-12)


def test_probabilities_of_rounds_by_hand() -> None:
    """Cut to 0, being below 0.1: 0.24 x 0.4 = 0.096 and 0.14 x 0.7 = 0.098. Not cut: 0.14 x 1."""
    low = DYNAMICS["staircase"].probabilities(20)
    np.testing.assert_allclose(low, 0.4 * BASE)
    for t, expected in (
        (1, [0.7, 0.56, 0.168, 0, 0, 0]),
        (6, [1.0, 0.8, 0.24, 0.14, 0, 0]),
        (16, [0.4, 0.32, 0, 0, 0, 0]),
        (36, [0.4, 0.32, 0, 0, 0, 0]),
    ):
        cut = DYNAMICS["interleaved_sine"].probabilities(t)
        np.testing.assert_allclose(cut, expected)
    uncut = DYNAMICS["sine"].probabilities(16)
    np.testing.assert_allclose(uncut, 0.4 * BASE)


def test_stationary_by_hand() -> None:
    """The staircase has mean (1 + 0.4) / 2 = 0.7; the sine too, since sin has mean 0.

    With the cut, 0.8 and 1 keep all rounds: 0.8 x 0.4 = 0.32. For 0.14, 0.14 f >= 0.1 requires
    f >= 0.714, sin >= 0.048: rounds 2..10. There sin is sin(2 pi j / 20) for j = 1..9, with sum
    cot(pi / 20) = 6.3138. So the mean is 0.14 (9 x 0.7 + 0.3 x 6.3138) / 20 = 0.05736.
    """
    np.testing.assert_allclose(DYNAMICS["staircase"].stationary, 0.7 * BASE)
    np.testing.assert_allclose(DYNAMICS["sine"].stationary, 0.7 * BASE)
    cut = DYNAMICS["interleaved_sine"].stationary
    np.testing.assert_allclose(cut[[0, 1, 4, 5]], [0.7, 0.56, 0, 0])
    assert cut[3] == pytest.approx(0.05736, abs=1e-5)


@pytest.mark.parametrize("name", DYNAMICS)
def test_clients_are_positively_correlated_over_the_rounds(name: str) -> None:
    """Given the round, clients are independent: their covariance is that of q_0t and q_1t.

    For q = 1 and 0.8 it is 0.8 var f, where var f is 0.3^2 for the staircase and 0.3^2 / 2 for the
    sine. A mean of T products of centred 0/1 values deviates by less than 0.25 / sqrt(T) = 0.0056.
    """
    process = DYNAMICS[name]
    expected = 0.8 * 0.09 / (1 if name == "staircase" else 2)
    centred = masks(process, ROUNDS)[:, :2] - process.stationary[:2]
    assert process.positively_correlated
    assert process.periodic
    assert abs(np.mean(centred[:, 0] * centred[:, 1]) - expected) < 5 * 0.0056


def test_the_four_share_their_probabilities() -> None:
    labels = np.random.default_rng(0).dirichlet(np.full(10, 0.1), 30)
    share = np.full(30, 1 / 30)
    configs = (StationaryConfig, StaircaseConfig, SineConfig, InterleavedSineConfig)
    made = [config().build(share, 5, labels) for config in configs]
    for process in made[1:]:
        assert process.q.tolist() == made[0].q.tolist()
    assert not made[0].positively_correlated
    assert not made[0].periodic
