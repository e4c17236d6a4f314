"""FedAWE's four dynamics: probabilities by hand, frequencies, correlation."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.availability import NonStationary
from f3ast_tff.availability.non_stationary import (
    InterleavedSineConfig,
    SineConfig,
    StaircaseConfig,
    StationaryConfig,
)
from tests.availability.effects import masks

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
