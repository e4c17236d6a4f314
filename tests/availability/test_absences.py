"""Absences by hand."""

from __future__ import annotations

import numpy as np

from f3ast_tff.availability.preview import Absences


def test_by_hand() -> None:
    """Three clients, four rounds: rounds since last available are 0 1 2 0, 1 0 1 2, 1 2 3 4.

    The longest absences are 2, 2 and 4; the 12 entries sum to 17.
    """
    absences = Absences(3)
    assert np.isnan(absences.tau_avg)
    for mask in ([1, 0, 0], [0, 1, 0], [0, 0, 0], [1, 0, 0]):
        absences.add(np.array(mask, bool))
    assert absences.longest.tolist() == [2, 2, 4]
    assert absences.tau_max == 4
    assert absences.tau_avg == 17 / 12


def test_a_sum_beyond_32_bits() -> None:
    """10 clients away for 30,000 rounds: the sum, 10 x 30,000 x 30,001 / 2, exceeds 2^32."""
    absences, nobody = Absences(10), np.zeros(10, bool)
    for _ in range(30_000):
        absences.add(nobody)
    assert absences.tau_avg == 15_000.5
