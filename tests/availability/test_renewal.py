"""Up and down spells and their laws, measured systems, and gaps of a least length."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import gamma

import numpy as np
import pytest
from scipy import special

from f3ast_tff.availability import MinimumSeparation, Renewal, RenewalConfig
from f3ast_tff.availability.renewal import FITS
from f3ast_tff.availability.spell_laws import Gamma, LogNormal, SpellLaw, Weibull, read_law
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings.configuration import Settings
from tests.availability.effects import Q, masks


@dataclass(frozen=True)
class Fixed:
    """Spells of one length."""

    mean: float

    def lengths(self, u: np.ndarray) -> np.ndarray:
        return np.full(len(u), self.mean)

    length_biased = lengths


@dataclass(frozen=True)
class Recorded(Weibull):
    """Keeps the spells that it draws."""

    drawn: list[np.ndarray] = field(default_factory=list)

    def lengths(self, u: np.ndarray) -> np.ndarray:
        self.drawn.append(super().lengths(u))
        return self.drawn[-1]


def test_spells_by_hand() -> None:
    """Three rounds up, two down, in turn; the phase at round 1 is uniform on the cycle.

    With 3000 clients each of the five rounds has 60% available, and a standard error of 0.009.
    """
    seen = masks(Renewal(3000, up=Fixed(3.0), down=Fixed(2.0), seed=0), 20)
    assert np.array_equal(seen[5:], seen[:-5])
    assert np.array_equal(seen[:5].sum(axis=0), np.full(3000, 3))
    assert np.all(np.abs(seen[:5].mean(axis=1) - 0.6) < 5 * 0.009)
    changes = (seen[1:6] != seen[:5]).sum(axis=0)
    assert set(changes) == {2}


def test_twice_as_long_rounds_see_every_second_round() -> None:
    up, down = FITS["skype06"]
    short = masks(Renewal(30, up=up, down=down, seed=1), 200)
    assert np.array_equal(
        masks(Renewal(30, up=up, down=down, seed=1, round_hours=2.0), 100), short[::2]
    )


def test_a_client_does_not_depend_on_the_number_of_clients() -> None:
    up, down = FITS["overnet03"]
    few, many = (masks(Renewal(n, up=up, down=down, seed=1), 100) for n in (5, 50))
    assert np.array_equal(few, many[:, :5])


def test_every_round_has_chance_pi() -> None:
    """Also the first ones, whose spells began before: 20,000 clients, a standard error of .003."""
    process = Renewal(20_000, up=Weibull(0.4, 1.0), down=Weibull(1.0, 1.0), seed=2)
    pi = gamma(3.5) / (gamma(3.5) + 1)
    assert np.abs(masks(process, 12).mean(axis=1) - pi).max() < 5 * 0.003


@pytest.mark.long
@pytest.mark.parametrize("name", FITS)
def test_long_run_shares_are_those_of_the_means(name: str) -> None:
    """Shares of 10^5 hours, seen every 20 hours, are within 1% of pi.

    With c_u and c_d the coefficients of variation of both spells and m the mean of a cycle, a
    client's share over T hours has the standard deviation pi (1 - pi) sqrt((c_u^2 + c_d^2) m / T).
    There are so many clients that 1% of pi is seven times that of their mean: 30 to 790.
    """
    up, down = FITS[name]
    mean, hours = up.mean + down.mean, 1e5
    pi = up.mean / mean
    variation = sum(gamma(1 + 2 / x.shape) / gamma(1 + 1 / x.shape) ** 2 - 1 for x in (up, down))
    deviation = (1 - pi) * np.sqrt(variation * mean / hours)
    process = Renewal(
        max(30, round((7 * deviation / 0.01) ** 2)), up=up, down=down, seed=5, round_hours=20.0
    )
    share = np.mean([process.mask(t).mean() for t in range(1, 5001)])
    assert share == pytest.approx(pi, rel=0.01)


def test_shares_of_the_nine_systems() -> None:
    """E[up] / (E[up] + E[down]), with Weibull means scale Gamma(1 + 1 / shape)."""
    shares = [
        RenewalConfig(renewal_preset=name).build(np.ones(1), seed=0).stationary[0] for name in FITS
    ]
    expected = [0.529, 0.811, 0.222, 0.825, 0.878, 0.929, 0.913, 0.951, 0.998]
    np.testing.assert_allclose(shares, expected, atol=0.0006)


@pytest.mark.parametrize("name", FITS)
def test_drawn_spells_have_their_law(name: str) -> None:
    """Kolmogorov's test of each law at 0.1%, with a fixed seed."""
    up, down = (Recorded(law.shape, law.scale) for law in FITS[name])
    process = Renewal(60, up=up, down=down, seed=2, round_hours=24.0)
    masks(process, 700)
    for law in (up, down):
        drawn = np.concatenate(law.drawn)
        assert len(drawn) > 100
        assert kolmogorov(drawn, law) < AT_MOST


@pytest.mark.long
@pytest.mark.parametrize("law", [Gamma(3.0, 10.0), LogNormal(0.5, 30.0), Weibull(2.0, 30.0)])
def test_spells_seen_in_the_masks_have_their_law(law: SpellLaw) -> None:
    """Spells of some 30 hours, seen every 0.1 hours: each is known to 0.2 hours.

    Only spells that begin in the first 2500 hours count, and all of them end within 3000, so that
    none is cut off.
    """
    process = Renewal(20, up=law, down=Fixed(1.0), seed=3, round_hours=0.1)
    seen = masks(process, 30_000)
    found = []
    for column in seen.T:
        edges = np.flatnonzero(np.diff(column.astype(int)))
        starts, ends = edges[~column[edges]], edges[column[edges]]
        starts = starts[starts < 25_000]
        found.append(ends[np.searchsorted(ends, starts)] - starts)
    lengths = np.concatenate(found) * 0.1
    assert len(lengths) > 1000
    assert kolmogorov(lengths, law) < AT_MOST


def test_laws_of_ones_own_replace_the_presets() -> None:
    config = RenewalConfig(renewal_preset="skype06", renewal_down="exponential,5")
    config.check(Settings.of({}))
    process = config.build(np.ones(3), seed=0)
    assert (process.up, process.down) == (FITS["skype06"][0], Weibull(1.0, 5.0))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (RenewalConfig(renewal_up="pareto,1,1"), "renewal_up = pareto,1,1: must be weibull"),
        (RenewalConfig(renewal_down="gamma,0,1"), "renewal_down = gamma,0,1: shape must be"),
        (
            RenewalConfig(renewal_round_hours=1e6),
            r"renewal_round_hours = 1000000.0: must be at most 2.852e\+04 hours, 1000 times up",
        ),
    ],
)
def test_wrong_parameters_are_refused(config: RenewalConfig, message: str) -> None:
    with pytest.raises(ParameterError, match=f"^{message}"):
        config.check(Settings.of({}))


# Largest statistic that a sample of the law has with probability 0.999.
AT_MOST = 1.95
CDFS: dict[type, Callable] = {
    Weibull: lambda x, shape, scale: -np.expm1(-((x / scale) ** shape)),
    LogNormal: lambda x, shape, scale: special.ndtr(np.log(x / scale) / shape),
    Gamma: lambda x, shape, scale: special.gammainc(shape, x / scale),
}


def cdf(law: SpellLaw, x: np.ndarray) -> np.ndarray:
    """P(X <= x), written down here apart from the law's draws."""
    found = next(CDFS[each] for each in type(law).__mro__ if each in CDFS)
    return found(x, law.shape, law.scale)  # type: ignore[attr-defined]


def kolmogorov(lengths: np.ndarray, law: SpellLaw) -> float:
    """sqrt(n) times the largest distance of both distribution functions."""
    n, expected = len(lengths), cdf(law, np.sort(lengths))
    above, below = np.arange(1, n + 1) / n - expected, expected - np.arange(n) / n
    return float(np.sqrt(n) * max(above.max(), below.max()))


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


@pytest.mark.parametrize("separation", [1, 4])
def test_never_twice_within_the_separation(separation: int) -> None:
    """The shortest gap is R + 1, with R rounds away between."""
    seen = masks(MinimumSeparation(np.full(30, 0.4), 1, separation), 600)
    gaps = np.concatenate([np.diff(np.flatnonzero(column)) for column in seen.T])
    assert gaps.min() == separation + 1


def test_gaps_of_the_separation_are_geometric() -> None:
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


def test_clients_that_rest_are_independent() -> None:
    """Over 4000 rounds correlations deviate by little more than 1 / sqrt(4000)."""
    seen = masks(MinimumSeparation(np.full(6, 0.4), 1, 2), 4000).astype(float)
    off_diagonal = np.corrcoef(seen.T) - np.eye(6)
    assert np.abs(off_diagonal).max() < 5 * 1.2 / np.sqrt(4000)
    assert not MinimumSeparation(Q, 0).positively_correlated
    assert not MinimumSeparation(Q, 0).periodic
