"""Batteries: a unit arrives with probability h per round; an available round takes c units."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.availability import Battery, BatteryConfig
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings.configuration import Settings
from tests.availability.effects import masks


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


def test_gaps_are_negative_binomial() -> None:
    """c = 2, h = 0.3: P(gap = 2) = h^2, P(gap = 3) = 2 h^2 (1 - h).

    Frequencies of m gaps deviate by sqrt(p (1 - p) / m).
    """
    seen = masks(Battery(np.full(60, 0.3), 2, 2), 1500)
    gaps = np.concatenate([np.diff(np.flatnonzero(column)) for column in seen.T])
    for size, p in ((1, 0.0), (2, 0.09), (3, 2 * 0.09 * 0.7)):
        assert abs(np.mean(gaps == size) - p) <= 5 * np.sqrt(p * (1 - p) / len(gaps))


def test_arrivals_between_the_bounds() -> None:
    """h_k ~ U(0.2, 0.4): of 2000 clients the extremes lie within 0.005 of the bounds."""
    h = BatteryConfig(5, 0.2, 0.4).build(np.ones(2000), 0).h
    assert 0.2 <= h.min() < 0.205 and 0.395 < h.max() <= 0.4
    with pytest.raises(ParameterError, match=r"battery_least_h = 0.5: must be at most"):
        BatteryConfig(5, 0.5, 0.4).check(Settings.of({}))
