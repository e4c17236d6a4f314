"""Log-normal availability of home-devices and smartphones (App. C-B, reading R4)."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.availability import HomeDevices, IndependentAvailability, Smartphones

N = 20_000


@pytest.mark.parametrize(
    ("process", "spread_is", "sigma"),
    [
        (HomeDevices, "variance", np.sqrt(0.5)),
        (HomeDevices, "sigma", 0.5),
        (Smartphones, "variance", 0.5),
        (Smartphones, "sigma", 0.25),
    ],
)
def test_q_is_a_lognormal_over_its_maximum(
    process: type[IndependentAvailability], spread_is: str, sigma: float
) -> None:
    """log q_k = log t_k - log max t, so log q has the spread of log t, sigma or sqrt(variance).

    Its sample deviation has standard error sigma / sqrt(2 N), half a percent, and it is normal:
    the shares below mean +- sigma are Phi(+-1) = 0.8413 and 0.1587, standard error 0.0026.
    """
    log_q = np.log(process(N, 1, spread_is).q)
    assert log_q.max() == 0
    assert abs(log_q.std() / sigma - 1) < 5 / np.sqrt(2 * N)
    for side, share in ((1, 0.8413), (-1, 0.1587)):
        below = np.mean(log_q < log_q.mean() + side * sigma)
        assert abs(below - share) < 5 * 0.0026


def test_readings_scale_the_same_draws() -> None:
    """The draw is exp(sigma z) with the same z: log q of the two readings have ratio sqrt(2)."""
    variance, sigma = HomeDevices(100, 3, "variance").q, HomeDevices(100, 3, "sigma").q
    np.testing.assert_allclose(np.log(variance), np.sqrt(2) * np.log(sigma), atol=1e-12)


def test_who_is_rare_depends_on_the_seed_and_the_process() -> None:
    first = HomeDevices(100, 3).q
    assert np.array_equal(first, HomeDevices(100, 3).q)
    assert np.argmin(first) != np.argmin(HomeDevices(100, 4).q)
    assert abs(np.corrcoef(np.log(first), np.log(Smartphones(100, 3).q))[0, 1]) < 0.5


def test_unknown_spread_is_refused_and_the_known_are_named() -> None:
    with pytest.raises(ValueError, match="'precision'.*variance, sigma"):
        HomeDevices(10, 0, "precision")
