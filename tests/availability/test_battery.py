"""Batteries: a unit arrives with probability h per round; an available round takes c units."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from f3ast_tff.availability import Battery, BatteryConfig
from f3ast_tff.core.errors import ParameterError

H = np.array([0.0, 0.05, 0.3, 0.9, 1.0])


def masks(process: Battery, rounds: int) -> np.ndarray:
    return np.array([process.mask(t) for t in range(1, rounds + 1)])


def test_by_hand() -> None:
    """h = 1, c = 3: a client with e units before round 1 is available in rounds 3 - e, 6 - e, ...

    Without arrivals it is never available; at c = 1 in each round with an arrival.
    """
    seen = masks(Battery(np.ones(50), 0, 3), 9)
    first = seen.argmax(axis=0)
    assert set(first) == {0, 1, 2}
    assert np.array_equal(seen, (np.arange(9)[:, None] - first) % 3 == 0)
    assert not masks(Battery(np.zeros(50), 0, 3), 9).any()
    assert masks(Battery(np.ones(50), 0, 1), 9).all()


@settings(max_examples=25)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.integers(1, 6), st.integers(0, 3))
def test_any_order_of_rounds_gives_the_same_masks(order: list[int], cost: int, seed: int) -> None:
    """Continuing from the last mask and starting anew agree; callers receive copies of masks."""
    in_order = masks(Battery(H, seed, cost), 40)
    process = Battery(H, seed, cost)
    for t in order:
        process.mask(t)[:] ^= True
        assert np.array_equal(process.mask(t), in_order[t - 1])


def test_gaps_are_negative_binomial() -> None:
    """c = 2, h = 0.3: P(gap = 2) = h^2, P(gap = 3) = 2 h^2 (1 - h).

    Frequencies of m gaps deviate by sqrt(p (1 - p) / m).
    """
    seen = masks(Battery(np.full(60, 0.3), 2, 2), 1500)
    gaps = np.concatenate([np.diff(np.flatnonzero(column)) for column in seen.T])
    for size, p in ((1, 0.0), (2, 0.09), (3, 2 * 0.09 * 0.7)):
        assert abs(np.mean(gaps == size) - p) <= 5 * np.sqrt(p * (1 - p) / len(gaps))


@pytest.mark.parametrize("h", [0.3, 1.0])
def test_every_round_has_the_stationary_law(h: float) -> None:
    """20,000 clients, c = 4: the frequency is h / 4 from round 1 on, without warming up."""
    process, pi = Battery(np.full(20_000, h), 0, 4), h / 4
    np.testing.assert_allclose(process.stationary, pi)
    for t in (1, 2, 3, 10):
        assert abs(process.mask(t).mean() - pi) < 5 * np.sqrt(pi * (1 - pi) / 20_000)


def test_arrivals_between_the_bounds() -> None:
    """h_k ~ U(0.2, 0.4): of 2000 clients the extremes lie within 0.005 of the bounds."""
    h = BatteryConfig(5, 0.2, 0.4).build(np.ones(2000), 0).h
    assert 0.2 <= h.min() < 0.205 and 0.395 < h.max() <= 0.4
    with pytest.raises(ParameterError, match=r"battery_least_h = 0.5: must be at most"):
        BatteryConfig(5, 0.5, 0.4).check({})
