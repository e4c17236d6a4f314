"""The record of who was available and selected."""

from __future__ import annotations

import numpy as np

from f3ast_tff.selection import Cohort
from f3ast_tff.training.history import SelectionHistory


def cohort(ids: list[int], weights: list[float]) -> Cohort:
    return Cohort(np.array(ids, np.int64), np.array(weights, np.float64))


def four_rounds() -> SelectionHistory:
    """Two clients; nobody; three, of which all were dropped; one, whose update was dropped."""
    history = SelectionHistory()
    history.append(5, cohort([4, 1], [0.5, 0.25]), 0, False)
    history.append(0, cohort([], []), 0, True)
    history.append(9, cohort([0, 7, 7], [1.0, 2.0, 3.0]), 3, True)
    history.append(1, cohort([2], [8.0]), 1, True)
    return history


def test_arrays_by_hand() -> None:
    arrays = four_rounds().arrays()
    assert arrays["num_available"].tolist() == [5, 0, 9, 1]
    assert arrays["num_selected"].tolist() == [2, 0, 3, 1]
    assert arrays["num_dropped"].tolist() == [0, 0, 3, 1]
    assert arrays["rejected"].tolist() == [False, True, True, True]
    assert arrays["selected"].tolist() == [[4, 1, -1], [-1, -1, -1], [0, 7, 7], [2, -1, -1]]
    assert arrays["weights"].tolist() == [[0.5, 0.25, 0], [0, 0, 0], [1, 2, 3], [8, 0, 0]]
    assert arrays["weight_sum"].tolist() == [0.75, 0, 6, 8]
    assert arrays["selected"].dtype == np.int64


def test_counts_by_hand() -> None:
    """An empty round leaves the model alone too, but is counted as empty, not as rejected."""
    history = four_rounds()
    assert (history.num_empty, history.num_dropped, history.num_rejected) == (1, 4, 2)


def test_restored_history_goes_on() -> None:
    whole = four_rounds()
    whole.append(2, cohort([3, 5, 6, 8], [1, 2, 3, 4]), 0, False)
    restored = SelectionHistory()
    restored.restore(four_rounds().arrays())
    restored.append(2, cohort([3, 5, 6, 8], [1, 2, 3, 4]), 0, False)
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(restored.arrays()[name], array)
        assert restored.arrays()[name].dtype == array.dtype
    assert restored.num_rejected == whole.num_rejected


def test_no_round_and_only_empty_rounds() -> None:
    history = SelectionHistory()
    assert history.arrays()["selected"].shape == (0, 0)
    history.append(0, cohort([], []), 0, True)
    assert history.arrays()["selected"].shape == (1, 0)
    restored = SelectionHistory()
    restored.restore(history.arrays())
    assert restored.num_empty == 1
