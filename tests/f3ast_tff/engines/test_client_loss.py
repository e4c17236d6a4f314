"""A client's loss: over all its examples, over one batch, or during training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmarks.tiny import tiny_data
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.engines.client_loss import losses_met, mean_losses, scored_rows
from f3ast_tff.engines.engine import ExampleScores
from f3ast_tff.methods.sum_and_mean import WeightedSum
from f3ast_tff.optimizers import Sgd
from tests.f3ast_tff.engines import reference

# Two clients, of 3 and 2 examples; the third example has two counted labels, the fourth none.
SCORES = ExampleScores(
    np.array([1.0, 2.0, 6.0, 0.0, 5.0]), np.zeros(5), np.array([1.0, 1.0, 2.0, 0.0, 1.0])
)
SIZES = np.array([3, 2])


def test_labels_weigh_alike() -> None:
    """9 / 4 and 5 / 1."""
    np.testing.assert_allclose(mean_losses(SCORES, SIZES), [2.25, 5.0])


def test_mean_squares() -> None:
    """Losses are 1, 2 and, over two labels, 3: (1 + 4 + 2 * 9) / 4, instead of 2.25^2; then 25."""
    found = mean_losses(SCORES, SIZES, "mean_squares")
    np.testing.assert_allclose(found, [5.75, 25.0])
    np.testing.assert_allclose(mean_losses(SCORES, np.array([0, 5]), "mean_squares")[0], np.nan)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([0, 3, 0, 2], [np.nan, 2.25, np.nan, 5.0]),
        ([3, 2, 0], [2.25, 5.0, np.nan]),
        # The fourth example has no counted label.
        ([3, 1, 1], [9 / 4, np.nan, 5.0]),
    ],
)
def test_a_client_without_examples_has_no_loss(sizes: list[int], expected: list[float]) -> None:
    """It does not get the loss of the next client."""
    np.testing.assert_allclose(mean_losses(SCORES, np.array(sizes)), expected)


def test_nobody_has_a_loss() -> None:
    empty = ExampleScores(np.zeros(0), np.zeros(0), np.zeros(0))
    assert np.isnan(mean_losses(empty, np.array([0, 0]))).all()


def test_a_diverged_loss_is_infinite() -> None:
    scores = ExampleScores(np.array([1.0, np.nan]), np.zeros(2), np.ones(2))
    np.testing.assert_array_equal(mean_losses(scores, np.array([1, 1])), [1.0, np.inf])


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        # Two passes over 3, 2, 5 examples.
        (LocalTraining(2, epochs=2), [0.5 * 6, 1.5 * 4, 2 * 10]),
        # Full batches hold 2, 2, 4 of 3, 2, 5 examples.
        (LocalTraining(2, drop_remainder=True), [0.5 * 2, 1.5 * 2, 2 * 4]),
        # Three full batches each.
        (LocalTraining(2, steps=3), [0.5 * 6, 1.5 * 6, 2 * 6]),
    ],
)
def test_losses_met_are_summed_over_visits(work: LocalTraining, expected: list[float]) -> None:
    means, sizes = np.array([0.5, 1.5, 2.0]), np.array([3, 2, 5])
    np.testing.assert_allclose(losses_met(means, sizes, work), expected)


def test_no_step_meets_no_loss_and_divergence_stays() -> None:
    """One example is no full batch of two: its mean is NaN, like that of a diverged client."""
    work = LocalTraining(2, drop_remainder=True)
    found = losses_met(np.array([np.nan, np.nan]), np.array([1, 2]), work)
    np.testing.assert_array_equal(found, [0.0, np.inf])


def test_one_batch_is_the_first_of_the_round() -> None:
    offsets, work = np.array([0, 7, 12]), LocalTraining(4, seed=1)
    first, second = scored_rows(np.array([1, 0]), offsets, work, "one_batch", 5)
    np.testing.assert_array_equal(first, 7 + work.order(5, 1, 5)[0, :4])
    np.testing.assert_array_equal(second, work.order(5, 0, 7)[0, :4])
    everything = scored_rows(np.array([1]), offsets, work, "mean", 5)
    np.testing.assert_array_equal(everything, [np.arange(7, 12)])


@pytest.mark.parametrize("name", [pytest.param("tff", marks=pytest.mark.slow), "fused", "host"])
def test_engines_score_that_batch(made: Callable[..., Any]) -> None:
    data, work = tiny_data(), LocalTraining(4, seed=3)
    engine = made(data, work, Sgd(1.0), WeightedSum(), client_loss="one_batch")
    for t in (1, 2):
        got = engine.client_losses(np.array([3, 0]), t)
        for k, loss in zip((3, 0), got):
            x, y = data.train.client(k)
            batch = work.order(t, k, len(y))[0, :4]
            expected = reference.losses(engine.weights(), x[batch], y[batch]).mean()
            assert loss == pytest.approx(expected, rel=1e-5)


@pytest.mark.long
@pytest.mark.parametrize("name", ["tff_in_process", "fused", "host"])
def test_a_client_below_one_batch_reports_nothing(made: Callable[..., Any]) -> None:
    """Clients 0 and 5 hold 7 and 8 examples, less than a batch of 10; client 1 holds 12."""
    data, work = tiny_data(), LocalTraining(10, drop_remainder=True, seed=3)
    engine = made(data, work, Sgd(1.0), WeightedSum(), client_loss="one_batch")
    got = engine.client_losses(np.array([0, 1, 5]), 1)
    x, y = data.train.client(1)
    batch = work.order(1, 1, len(y))[0, :10]
    expected = reference.losses(engine.weights(), x[batch], y[batch]).mean()
    np.testing.assert_allclose(got, [np.nan, expected, np.nan], rtol=1e-5)
    assert np.isnan(engine.client_losses(np.array([5, 0]), 1)).all()
