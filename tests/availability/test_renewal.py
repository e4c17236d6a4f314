"""Up and down spells: by hand, their laws, and long-run shares of nine measured systems."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import gamma

import numpy as np
import pytest

from f3ast_tff.availability import Renewal, RenewalConfig
from f3ast_tff.availability.renewal import FITS
from f3ast_tff.availability.spell_laws import Gamma, LogNormal, SpellLaw, Weibull
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings.configuration import Settings
from tests.availability.effects import masks
from tests.availability.known_laws import AT_MOST, kolmogorov


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


def test_by_hand() -> None:
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
