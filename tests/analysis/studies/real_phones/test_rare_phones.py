"""The influence of phones that are seldom available, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.analysis.studies.real_phones.rare_phones import influences


def test_influence_by_hand() -> None:
    """Three phones of p = 1/4, 1/4, 1/2, in 0, 2 and 4 rounds of four, K = 1 or none.

    Phone 1 is selected once with weight .6, phone 2 twice with .2: of all weights, 1.0, they have
    .6 and .4, over p 2.4 and .8.
    """
    rows = list(
        influences(
            available=np.array([0, 2, 4]),
            selected=np.array([[1], [2], [2], [-1]]),
            weights=np.array([[0.6], [0.2], [0.2], [np.nan]]),
            p=np.array([0.25, 0.25, 0.5]),
        )
    )
    assert [row["rounds_available"] for row in rows] == ["0", "1-2", "3-20"]
    assert [row["phones"] for row in rows] == [1, 1, 1]
    assert [row["selected"] for row in rows] == [0, 0.5, 0.5]
    assert [row["influence"] for row in rows] == pytest.approx([0, 2.4, 0.8])
    assert [row["largest_weight"] for row in rows] == [0, 0.6, 0.2]
