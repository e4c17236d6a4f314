"""Clients that join and leave: by a file, as a Poisson process, inside combinations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from f3ast_tff.availability import Mix, Product, Scarce, Stays
from f3ast_tff.availability.poisson_arrivals import PoissonArrivalsConfig, poisson_stays
from f3ast_tff.availability.stays import FOREVER, StaysFileConfig, read_stays
from f3ast_tff.errors import DataError, ParameterError

FILE = "client,first,last\n2,3,5\n0,1,2\n3,4,\n"


def test_a_file_by_hand(tmp_path: Path) -> None:
    """Clients 0: rounds 1-2, 1: not listed, 2: rounds 3-5, 3: from 4 on."""
    path = tmp_path / "stays.csv"
    path.write_text(FILE)
    process = StaysFileConfig(1.0, 6, str(path)).build(np.full(4, 0.25), 0)
    assert np.array([process.mask(t) for t in range(1, 7)]).astype(int).tolist() == [
        *([1, 1, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0]),
        *([0, 1, 1, 1], [0, 1, 1, 1], [0, 1, 0, 1]),
    ]
    np.testing.assert_allclose(process.stationary, [2 / 6, 1, 3 / 6, 3 / 6])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("client,from,to\n", "line 1 must be client,first,last"),
        ("client,first,last\n0,1\n", r"line 2: \['0', '1'\] is not a client, a first"),
        ("client,first,last\nx,1,2\n", "line 2: .* is not a client"),
        ("client,first,last\n0,1,z\n", "line 2: last round 'z' is not a round"),
        ("client,first,last\n0,5,4\n", "line 2: rounds 5 to 4: must rise from 1 on"),
        ("client,first,last\n0,0,4\n", "line 2: rounds 0 to 4"),
        ("client,first,last\n4,1,2\n", "line 2: client 4 of 4"),
        ("client,first,last\n1,1,2\n1,4,5\n", "line 3: client 1 was there before"),
        ('client,first,last\n1,1,"2\n', "unexpected end of data"),
        ("", "line 1 must be"),
    ],
)
def test_a_bad_file_is_one_clear_error(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "stays.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=message) as raised:
        read_stays(path, 4)
    assert str(raised.value).startswith(str(path)) and "\n" not in str(raised.value)
    with pytest.raises(DataError, match="gone.csv: there is no such file"):
        read_stays(tmp_path / "gone.csv", 4)


def test_poisson_arrivals_are_a_queue_in_equilibrium() -> None:
    """Rate 5, mean stay 20: Poisson(100) clients in every round, covariance 100 exp(-lag / 20).

    1000 draws: the mean of one round has a deviation of sqrt(100 / 1000) = 0.32; a covariance of
    100 c one of 100 sqrt((1 + c^2) / 1000) < 4.5, with the Poisson's fourth moment a little more.
    """
    seen = np.empty((1000, 41))
    for seed in range(1000):
        first, last = poisson_stays(500, seed, 5.0, 20.0)
        change = np.zeros(502)
        there = first <= last
        np.add.at(change, np.minimum(first[there], 501), 1)
        np.add.at(change, np.minimum(last[there] + 1, 501), -1)
        seen[seed] = np.cumsum(change)[1:42]
    assert np.all(np.abs(seen.mean(axis=0) - 100) < 5 * 0.32)
    covariance = np.cov(seen.T)
    for lag in (0, 5, 40):
        assert abs(covariance[0, lag] - 100 * np.exp(-lag / 20)) < 5 * 4.6


def test_stays_are_exponential_and_arrivals_poisson() -> None:
    """100,000 clients, rate 10, stay 7: P(stay over n rounds) counted at whole times.

    A client that comes at a uniform place within a round is seen in n or more rounds with
    probability (1 - exp(-1/7)) 7 exp(-(n - 1) / 7). Arrivals in 100 rounds: Poisson(1000).
    """
    first, last = poisson_stays(100_000, 4, 10.0, 7.0)
    late = first > 1
    rounds = (last - first + 1)[late]
    for n in (1, 5, 20):
        chance = (1 - np.exp(-1 / 7)) * 7 * np.exp(-(n - 1) / 7)
        deviation = np.sqrt(chance * (1 - chance) / late.sum())
        assert abs((rounds >= n).mean() - chance) < 5 * deviation
    arrivals = np.histogram(first[late], np.arange(2, 9003, 100))[0]
    assert abs(arrivals.mean() - 1000) < 5 * np.sqrt(1000 / 90)
    assert 0.5 < arrivals.var() / 1000 < 1.7


def test_the_default_rate_uses_up_all_clients() -> None:
    """N / (S + H) a round: N S / (S + H) at the start and N H / (S + H) in H rounds."""
    config = PoissonArrivalsConfig(presence_rounds=300, presence_stay=100)
    process = config.build(np.full(4000, 1 / 4000), 0)
    assert abs(process.mask(1).sum() - 1000) < 5 * np.sqrt(1000)
    assert abs((process.first <= 300).sum() - 4000) < 5 * np.sqrt(4000)
    few = PoissonArrivalsConfig(presence_rounds=300, presence_stay=1e9, presence_arrivals=1.0)
    assert few.build(np.full(20, 0.05), 0).mask(300).all()


def test_extreme_rates_and_stays() -> None:
    first, last = poisson_stays(10, 0, 1e38, 1e38)
    assert (first == 1).all() and (last > 2**60).all()
    first, last = poisson_stays(10, 0, 1e-300, 1e-3)
    assert first.min() > 10**15 and (last < first).all()


def test_combinations_are_present_where_their_parts_are() -> None:
    stays = Stays(np.array([1, 1, 3, 3]), np.array([2, FOREVER, 5, 2]), 0, 5)
    product = Product([Scarce(4, 0), stays])
    mix = Mix([Scarce(4, 0), stays], np.array([0, 1, 1, 1]))
    for t in range(1, 7):
        there = stays.present(t)
        assert np.array_equal(product.present(t), there)
        assert np.array_equal(mix.present(t), there | np.array([True, False, False, False]))
        assert not (product.mask(t) & ~product.present(t)).any()
        assert not (mix.mask(t) & ~mix.present(t)).any()


def test_values_that_are_not_allowed() -> None:
    one = np.ones(1, np.int64)
    with pytest.raises(ParameterError, match="presence_rounds = 0: must be at least 1"):
        Stays(one, one, 0, 0)
    with pytest.raises(ParameterError, match=r"presence_q = 2: must be in \[0, 1\]"):
        Stays(one, one, 0, 1, 2)
