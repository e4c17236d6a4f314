"""A client's loss: over all of its examples, by batches, or over one batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from f3ast_tff.aggregation.weighted_sum import WeightedSum
from f3ast_tff.engines.client_loss import reduce_losses, scored_rows
from f3ast_tff.engines.engine import ExampleScores
from f3ast_tff.local_training import LocalTraining
from f3ast_tff.optimizers import Sgd
from tests.f3ast_tff.engines import reference
from tests.f3ast_tff.engines.tiny import tiny_data

# Two clients, of 3 and 2 examples; the third example has two labels that count, the fourth none.
SCORES = ExampleScores(
    np.array([1.0, 2.0, 6.0, 0.0, 5.0]), np.zeros(5), np.array([1.0, 1.0, 2.0, 0.0, 1.0])
)
SIZES = np.array([3, 2])


@pytest.mark.parametrize(
    ("reduction", "expected"),
    [
        # 9 / 4 and 5 / 1; batches of two: 3 / 2 + 6 / 2, then 5 / 1.
        ("mean", [2.25, 5.0]),
        ("one_batch", [2.25, 5.0]),
        ("sum_of_batches", [4.5, 5.0]),
    ],
)
def test_labels_weigh_alike(reduction: str, expected: list[float]) -> None:
    np.testing.assert_allclose(reduce_losses(SCORES, SIZES, reduction, 2), expected)


def test_unknown_reduction_is_refused() -> None:
    with pytest.raises(ValueError, match="'median': must be one of mean"):
        reduce_losses(SCORES, SIZES, "median", 2)


def test_one_batch_is_the_first_of_the_round() -> None:
    offsets, work = np.array([0, 7, 12]), LocalTraining(4, seed=1)
    first, second = scored_rows(np.array([1, 0]), offsets, work, "one_batch", 5)
    np.testing.assert_array_equal(first, 7 + work.order(5, 1, 5)[0, :4])
    np.testing.assert_array_equal(second, work.order(5, 0, 7)[0, :4])
    everything = scored_rows(np.array([1]), offsets, work, "mean", 5)
    np.testing.assert_array_equal(everything, [np.arange(7, 12)])


@pytest.mark.parametrize("name", ["tff", "fused"])
def test_engines_score_that_batch(name: str, make_engine: Callable[..., Any]) -> None:
    data, work = tiny_data(), LocalTraining(4, seed=3)
    engine = make_engine(name, data, work, Sgd(1.0), WeightedSum(), client_loss="one_batch")
    for t in (1, 2):
        got = engine.client_losses(np.array([3, 0]), t)
        for k, loss in zip((3, 0), got):
            x, y = data.train.client(k)
            batch = work.order(t, k, len(y))[0, :4]
            expected = reference.losses(engine.weights(), x[batch], y[batch]).mean()
            assert loss == pytest.approx(expected, rel=1e-5)
