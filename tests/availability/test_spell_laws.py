"""Laws of spells against their distribution functions, and the rest of a spell."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.availability.spell_laws import Gamma, LogNormal, SpellLaw, Weibull, read_law
from tests.availability.known_laws import cdf

LAWS: dict[str, SpellLaw] = {
    "heavy": Weibull(0.63, 9.48),
    "heaviest": Weibull(0.33, 19.35),
    "light": Weibull(2.0, 3.0),
    "lognormal": LogNormal(1.5, 4.0),
    "gamma": Gamma(0.5, 28.5),
    "exponential": Weibull(1.0, 14.3),
}


def midpoints(most: float) -> tuple[np.ndarray, np.ndarray]:
    """Points of 0 .. most and their widths, even in log x, as a heavy tail has many scales."""
    z, width = np.linspace(-40, np.log(most), 20_000, endpoint=False, retstep=True)
    x = np.exp(z + width / 2)
    return x, x * width


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_quantiles_and_means(law: SpellLaw) -> None:
    """P(X <= length of u) is u or, with Weibull, 1 - u; E[X] is the integral of P(X > x)."""
    u = np.linspace(0.001, 0.999, 50)
    np.testing.assert_allclose(cdf(law, law.lengths(u)), 1 - u if isinstance(law, Weibull) else u)
    x, width = midpoints(1e9)
    assert law.mean == pytest.approx(np.sum((1 - cdf(law, x)) * width), rel=1e-4)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_the_rest_of_a_spell_has_the_equilibrium_law(law: SpellLaw) -> None:
    """P(rest <= x) = integral of P(X > y) over 0 .. x, over E[X]; 40,000 draws.

    Frequencies deviate by at most 0.5 / sqrt(40,000) = 0.0025.
    """
    rng = np.random.default_rng(0)
    rests = rng.random(40_000) * law.length_biased(rng.random(40_000))
    for most in np.quantile(rests, np.linspace(0.05, 0.95, 10)):
        x, width = midpoints(most)
        expected = np.sum((1 - cdf(law, x)) * width) / law.mean
        assert abs(np.mean(rests <= most) - expected) < 5 * 0.0025


def test_laws_by_their_texts() -> None:
    assert read_law("weibull,0.63,9.48") == Weibull(0.63, 9.48)
    assert read_law(" LogNormal, 1.5,4 ") == LogNormal(1.5, 4.0)
    assert read_law("gamma,0.5,28.5") == Gamma(0.5, 28.5)
    assert read_law("exponential,3") == Weibull(1.0, 3.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pareto,1,1", "must be weibull, lognormal or gamma with SHAPE,SCALE"),
        ("weibull,1", "must be weibull"),
        ("exponential,1,1", "must be weibull"),
        ("weibull,a,1", "must be weibull"),
        ("gamma,0.01,1", "shape must be at least 0.05 and at most 20"),
        ("gamma,nan,1", "shape must be at least"),
        ("gamma,1,0", "scale must be above 0 and finite"),
        ("gamma,1,inf", "scale must be above 0 and finite"),
        ("lognormal,20,1", "mean must be above 0 and at most 1e[+]12 hours"),
    ],
)
def test_what_is_no_law_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        read_law(text)
