"""Clients that join and leave: from a file, by chance, inside combinations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.availability import (
    ArrivalDepartureConfig,
    IndependentAvailability,
    Mix,
    PoissonArrivalsConfig,
    Product,
    Stays,
    StaysFileConfig,
)
from f3ast_tff.availability.logs.stays_files import FOREVER, read_stays
from f3ast_tff.core.errors import DataError
from f3ast_tff.settings.resolve import resolve

FILE = "client,first,last\n2,3,5\n0,1,2\n3,4,\n"


def test_a_file_by_hand(tmp_path: Path) -> None:
    """Client 0: rounds 1-2; 1: not listed; 2: rounds 3-5; 3: from round 4 on."""
    path = tmp_path / "stays.csv"
    path.write_text(FILE)
    process = StaysFileConfig(1.0, 6, str(path)).build(np.full(4, 0.25), 0)
    assert np.array([process.mask(t) for t in range(1, 7)]).astype(int).tolist() == [
        [1, 1, 0, 0],
        [1, 1, 0, 0],
        [0, 1, 1, 0],
        [0, 1, 1, 1],
        [0, 1, 1, 1],
        [0, 1, 0, 1],
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


def test_combinations_are_present_where_their_parts_are() -> None:
    stays = Stays(np.array([1, 1, 3, 3]), np.array([2, FOREVER, 5, 2]), 0, 5)
    scarce = IndependentAvailability(np.full(4, 0.2), 0)
    product = Product([scarce, stays])
    mix = Mix([scarce, stays], np.array([0, 1, 1, 1]))
    for t in range(1, 7):
        there = stays.present(t)
        assert np.array_equal(product.present(t), there)
        assert np.array_equal(mix.present(t), there | np.array([True, False, False, False]))
        assert not (product.mask(t) & ~product.present(t)).any()
        assert not (mix.mask(t) & ~mix.present(t)).any()


def arriving(num_clients: int, seed: int, horizon: int, **given: Any) -> Stays:
    config = ArrivalDepartureConfig(presence_rounds=horizon, **given)
    return config.build(np.ones(num_clients), seed)


def poisson(num_clients: int, seed: int, rate: float, stay: float) -> tuple[np.ndarray, np.ndarray]:
    """Returns the first and the last round of each client."""
    config = PoissonArrivalsConfig(presence_rounds=1, presence_stay=stay, presence_arrivals=rate)
    process = config.build(np.ones(num_clients), seed)
    return process.first, process.last


def test_each_is_there_from_its_first_round_to_its_last() -> None:
    process = arriving(40, seed=1, horizon=30)
    seen = np.array([process.mask(t) for t in range(1, 61)])
    t = np.arange(1, 61)[:, None]
    assert np.array_equal(seen, (process.first <= t) & (t <= process.last))
    np.testing.assert_allclose(seen[:30].mean(axis=0), process.stationary)
    assert np.array_equal(seen[30:], np.tile(process.last == FOREVER, (30, 1)))
    assert seen[:30].any(axis=0).all()


def test_shares_are_kept_and_drawn_independently() -> None:
    """Of 1000 clients, 300 may arrive late and exactly 600 leave.

    The number that do both is hypergeometric: mean 1000 x 0.3 x 0.6 = 180, variance 180 x 0.7 x
    0.4 x 1000 / 999 = 50. An arrival round is one of 1000, so a few of the 300 may arrive in round
    1 by chance.
    """
    process = arriving(1000, 2, horizon=1000, arrival_share=0.3, departure_share=0.6)
    leaves = process.last < FOREVER
    assert leaves.sum() == 600
    assert 295 <= (process.first > 1).sum() <= 300
    assert abs(((process.first > 1) & leaves).sum() - 180) < 5 * np.sqrt(50) + 5


def test_rounds_are_uniform() -> None:
    """H = 100; all 10,000 clients arrive and leave.

    Their first round has mean 50.5 and deviation 28.9. Given first, last is uniform on first..H. So
    (last - first + 1/2) / (H - first + 1) has mean 1/2 and a deviation of at most
    1 / sqrt(12) = 0.289.
    """
    process = arriving(10_000, 0, horizon=100, arrival_share=1, departure_share=1)
    assert abs(process.first.mean() - 50.5) < 5 * 0.289
    place = (process.last - process.first + 0.5) / (101 - process.first)
    assert abs(place.mean() - 0.5) < 5 * 0.00289
    assert (process.first.min(), process.last.max()) == (1, 100)


def test_frequencies_with_a_probability() -> None:
    """q = 0.3: over H = 2000 rounds a count has mean H x stationary, and variance 0.7 x mean."""
    process = arriving(30, 4, horizon=2000, presence_q=0.3)
    counts = np.sum([process.mask(t) for t in range(1, 2001)], axis=0)
    mean = 2000 * process.stationary
    np.testing.assert_allclose(mean, 0.3 * (np.minimum(process.last, 2000) - process.first + 1))
    assert np.all(np.abs(counts - mean) <= 5 * np.sqrt(0.7 * mean))


def test_nobody_moves() -> None:
    process = arriving(5, 0, horizon=10, arrival_share=0, departure_share=0)
    assert all(process.mask(t).all() for t in (1, 10, 1000))
    assert process.stationary.tolist() == [1.0] * 5


def test_rounds_are_those_of_the_run_unless_given() -> None:
    given = {"availability": "arrival_departure", "rounds": 77}
    assert resolve(given).settings["presence_rounds"] == 77
    assert resolve({**given, "presence_rounds": 50}).settings["presence_rounds"] == 50


def test_poisson_arrivals_are_a_queue_in_equilibrium() -> None:
    """Rate 5, mean stay 20: Poisson(100) clients per round, covariance 100 exp(-lag / 20).

    Over 1000 draws, the mean of one round deviates by sqrt(100 / 1000) = 0.32. A covariance of
    100 c deviates by 100 sqrt((1 + c^2) / 1000) < 4.5, and by a little more with the Poisson's
    fourth moment.
    """
    seen = np.empty((1000, 41))
    for seed in range(1000):
        first, last = poisson(500, seed, 5.0, 20.0)
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
    """100,000 clients, rate 10, stay 7: P(stay over n rounds), counted at whole times.

    A client arrives at a uniform time within a round, and is seen in n or more rounds with
    probability (1 - exp(-1/7)) 7 exp(-(n - 1) / 7). Arrivals in 100 rounds: Poisson(1000).
    """
    first, last = poisson(100_000, 4, 10.0, 7.0)
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
    """N / (S + H) per round: N S / (S + H) clients at the start, N H / (S + H) in H rounds."""
    config = PoissonArrivalsConfig(presence_rounds=300, presence_stay=100)
    process = config.build(np.full(4000, 1 / 4000), 0)
    assert abs(process.mask(1).sum() - 1000) < 5 * np.sqrt(1000)
    assert abs((process.first <= 300).sum() - 4000) < 5 * np.sqrt(4000)
    few = PoissonArrivalsConfig(presence_rounds=300, presence_stay=1e9, presence_arrivals=1.0)
    assert few.build(np.full(20, 0.05), 0).mask(300).all()


def test_extreme_rates_and_stays() -> None:
    first, last = poisson(10, 0, 1e38, 1e38)
    assert (first == 1).all() and (last > 2**60).all()
    first, last = poisson(10, 0, 1e-37, 1e-3)
    assert first.min() > 10**15 and (last < first).all()
