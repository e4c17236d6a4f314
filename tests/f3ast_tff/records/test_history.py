"""The record of available, selected and delivered clients."""

from __future__ import annotations

import math

import numpy as np

from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.records.delivered import RoundDelivery
from f3ast_tff.records.history import SelectionHistory


def asked(
    num_available: int,
    ids: list[int],
    weights: list[float],
    delivered: list[bool] | None = None,
    seconds: float = math.nan,
) -> RoundDelivery:
    """Asked clients, with weights of the delivered ones, by default all; 10 bytes each way."""
    came = np.array([True] * len(ids) if delivered is None else delivered, bool)
    every = np.array(ids, np.int64)
    cohort = Cohort(every[came], np.array(weights, np.float64))
    return RoundDelivery(
        num_available, every, came, cohort, seconds, 10 * len(ids), 10 * len(cohort)
    )


def four_rounds() -> SelectionHistory:
    """Two clients; no client; three, all dropped; one, whose update is dropped."""
    history = SelectionHistory()
    history.append(asked(5, [4, 1], [0.5, 0.25]), 0, False)
    history.append(asked(0, [], []), 0, True)
    history.append(asked(9, [0, 7, 7], [1.0, 2.0, 3.0]), 3, True)
    history.append(asked(1, [2], [8.0]), 1, True)
    return history


def two_rounds_with_losses() -> SelectionHistory:
    """One of three is delivered, weight 0.5, in 20 s; then the only client is lost, in 30 s."""
    history = SelectionHistory()
    history.append(asked(6, [4, 1, 3], [0.5], [False, True, False], 20.0), 0, False)
    history.append(asked(6, [2], [], [False], 30.0), 0, True)
    return history


def test_arrays_by_hand() -> None:
    arrays = four_rounds().arrays()
    assert arrays["num_available"].tolist() == [5, 0, 9, 1]
    assert arrays["num_selected"].tolist() == arrays["num_delivered"].tolist() == [2, 0, 3, 1]
    assert arrays["num_dropped"].tolist() == [0, 0, 3, 1]
    assert arrays["rejected"].tolist() == [False, True, True, True]
    assert arrays["selected"].tolist() == [[4, 1, -1], [-1, -1, -1], [0, 7, 7], [2, -1, -1]]
    np.testing.assert_array_equal(arrays["delivered"], arrays["selected"] >= 0)
    assert arrays["weights"].tolist() == [[0.5, 0.25, 0], [0, 0, 0], [1, 2, 3], [8, 0, 0]]
    assert arrays["weight_sum"].tolist() == [0.75, 0, 6, 8]
    assert arrays["selected"].dtype == np.int64


def test_counts_by_hand() -> None:
    """An empty round leaves the model alone too, but counts as empty instead of rejected."""
    history = four_rounds()
    assert (history.num_empty, history.num_dropped, history.num_rejected) == (1, 4, 2)
    assert history.num_lost == 0


def test_lost_updates_by_hand() -> None:
    history = two_rounds_with_losses()
    arrays = history.arrays()
    assert arrays["selected"].tolist() == [[4, 1, 3], [2, -1, -1]]
    assert arrays["delivered"].tolist() == [[False, True, False], [False, False, False]]
    assert arrays["weights"].tolist() == [[0, 0.5, 0], [0, 0, 0]]
    assert arrays["weight_sum"].tolist() == [0.5, 0]
    assert (arrays["num_selected"].tolist(), arrays["num_delivered"].tolist()) == ([3, 1], [1, 0])
    assert arrays["round_seconds"].tolist() == [20, 30]
    assert (arrays["bytes_down"].tolist(), arrays["bytes_up"].tolist()) == ([30, 10], [10, 0])
    assert history.total == (40, 10, 50.0)
    assert (history.num_lost, history.num_empty, history.num_rejected) == (3, 1, 0)


def test_restored_history_goes_on() -> None:
    for make in (four_rounds, two_rounds_with_losses):
        whole, restored = make(), SelectionHistory()
        restored.restore(make().arrays())
        for history in (whole, restored):
            last = asked(2, [3, 5, 6, 8], [1, 2, 3], [True, True, False, True], 7.0)
            history.append(last, 0, False)
        for name, array in whole.arrays().items():
            np.testing.assert_array_equal(restored.arrays()[name], array)
            assert restored.arrays()[name].dtype == array.dtype
        assert restored.num_rejected == whole.num_rejected
        np.testing.assert_array_equal(restored.total, whole.total)


def test_no_round_and_only_empty_rounds() -> None:
    history = SelectionHistory()
    assert history.arrays()["selected"].shape == (0, 0)
    history.append(asked(0, [], []), 0, True)
    assert history.arrays()["selected"].shape == (1, 0)
    restored = SelectionHistory()
    restored.restore(history.arrays())
    assert restored.num_empty == 1
