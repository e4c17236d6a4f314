"""Available in all of several processes."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.availability import Alternating, Markov, Product, Scarce, Smartphones, Table
from f3ast_tff.availability.combined import part_seed


def test_available_where_all_are() -> None:
    one, two = Table(np.array([[1, 1, 0, 0]])), Table(np.array([[1, 0, 1, 0]]))
    assert Product([one, two]).mask(1).tolist() == [True, False, False, False]


def test_frequency_is_the_product_for_parts_with_their_own_seeds() -> None:
    """0.5 x 0.6 over 40 clients and 1000 rounds, standard error 0.0023; with one seed 0.5."""
    parts = [Scarce(40, part_seed(1, 0), 0.5), Scarce(40, part_seed(1, 1), 0.6)]
    process = Product(parts)
    seen = np.mean([process.mask(t).mean() for t in range(1, 1001)])
    assert abs(seen - 0.3) < 5 * np.sqrt(0.3 * 0.7 / 40_000)
    assert process.stationary == pytest.approx(np.full(40, 0.3))


def test_stationary_with_one_periodic_part() -> None:
    parts = [Markov(np.full(4, 0.5), np.full(4, 0.5), 1), Alternating(4, ratio=3.0)]
    assert Product(parts).stationary == pytest.approx([0.125, 0.125, 0.375, 0.375])


def test_no_stationary_for_two_periodic_parts() -> None:
    """Two alternating processes in opposite phase are never available together, yet each half."""
    parts = [Alternating(2), Alternating(2, group=np.array([1, 0]))]
    assert not any(Product(parts).mask(t).any() for t in range(1, 41))
    assert Product(parts).stationary is None
    assert Product([Product(parts), Scarce(2, 0)]).stationary is None


def test_parts_must_agree_on_the_clients() -> None:
    with pytest.raises(ValueError, match=r"\[3, 4\] clients"):
        Product([Scarce(3, 0), Smartphones(4, 0)])
    with pytest.raises(ValueError, match="must be one number"):
        Product([])
