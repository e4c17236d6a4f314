"""The homogeneous processes."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.availability import Always, Scarce


def test_always_is_everyone() -> None:
    assert all(Always(7, seed=3).mask(t).all() for t in range(1, 300))


def test_scarce_is_one_in_five() -> None:
    assert Scarce(4, seed=0).q.tolist() == [0.2] * 4
    assert Scarce(2, seed=0, q=0.7).q.tolist() == [0.7] * 2


def test_scarce_refuses_what_is_not_a_probability() -> None:
    with pytest.raises(ValueError, match="1.5"):
        Scarce(4, seed=0, q=1.5)


def test_scarce_mean_number_available() -> None:
    """50 clients over 1000 rounds: 50,000 draws of 0.2, standard error 0.0018."""
    process = Scarce(50, seed=1)
    mean = np.mean([process.mask(t).mean() for t in range(1, 1001)])
    assert abs(mean - 0.2) < 5 * np.sqrt(0.2 * 0.8 / 50_000)
