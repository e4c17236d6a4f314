"""Loss estimates: eq. (17), minima so far or given, Gamma'; minima by training clients alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

from f3ast_tff.core.federated_data import ClientExamples
from f3ast_tff.core.preprocessing import AsStored, ScaledPixels
from f3ast_tff.methods.parts.loss_estimates import LossEstimates, _cross_entropy, trained_minima
from f3ast_tff.models import SoftmaxRegression


def report(estimates: LossEstimates, ids: list[int], losses: list[float]) -> LossEstimates:
    return estimates.after(np.array(ids), np.array(losses))


def test_nothing_reported() -> None:
    for minima in (None, np.array([0.5, 0.2])):
        estimates = LossEstimates(2, minima=minima)
        assert estimates.gap.tolist() == [0, 0]
        assert estimates.heterogeneity == 0


def test_first_reports_stand_for_everybody() -> None:
    """Clients 0 and 2 report 1 and 4; client 1 gets their mean, later eq. (17) with beta 1/4."""
    estimates = LossEstimates(3, beta=0.25)
    estimates = report(estimates, [2, 0], [4.0, 1.0])
    assert estimates.values.tolist() == [1, 2.5, 4]
    estimates = report(estimates, [1, 2], [0.5, 8.0])
    np.testing.assert_allclose(estimates.values, [1, 0.75 * 2.5 + 0.25 * 0.5, 0.75 * 4 + 2])


def test_by_default_the_last_report_counts() -> None:
    estimates = report(report(LossEstimates(1), [0], [4.0]), [0], [2.0])
    assert estimates.values.tolist() == [2]


def test_losses_of_large_logits_by_hand() -> None:
    """Logits (1000, 0) and (-1000, 0), labels 1 and 0: each loss is 1000; no warning."""
    x, labels = np.array([[1.0], [-1.0]]), np.array([1, 0])
    loss, slope = _cross_entropy(x, labels, np.arange(2), np.array([[1000.0, 0.0]]))
    assert (loss, slope.tolist()) == (1000.0, [[1.0, -1.0]])


def test_clients_without_a_report_start_from_the_mean_not_the_median() -> None:
    """Reports 1, 2 and 6: the mean is 3, the median 2."""
    estimates = report(LossEstimates(4), [0, 1, 3], [1.0, 2.0, 6.0])
    assert estimates.values.tolist() == [1, 2, 3, 6]
    assert estimates.minima.tolist() == [1, 2, 3, 6]


def test_minima_are_of_the_smoothed_losses() -> None:
    """beta 1/2, reports 4, 2, 6, 0: estimates 4, 3, 4.5, 2.25; minima 4, 3, 3, 2.25."""
    estimates = LossEstimates(1, beta=0.5)
    gaps = []
    for loss in (4.0, 2.0, 6.0, 0.0):
        estimates = report(estimates, [0], [loss])
        gaps.append(float(estimates.gap[0]))
    assert gaps == [0, 0, 1.5, 0]
    assert estimates.minima.tolist() == [2.25]


def test_known_minima_stay() -> None:
    estimates = LossEstimates(2, minima=np.array([0.5, 2.0]))
    estimates = report(estimates, [0, 1], [3.0, 1.0])
    assert estimates.minima.tolist() == [0.5, 2]
    assert estimates.gap.tolist() == [2.5, -1]
    assert estimates.heterogeneity == 2.5
    estimates = report(estimates, [0], [0.1])
    assert estimates.heterogeneity == 0


def test_a_loss_that_is_not_finite_is_no_report() -> None:
    estimates = LossEstimates(3)
    estimates = report(estimates, [0, 1], [np.nan, np.inf])
    assert estimates.gap.tolist() == [0, 0, 0]
    estimates = report(estimates, [0, 1], [np.nan, 2.0])
    assert estimates.values.tolist() == [2, 2, 2]
    estimates = report(estimates, [1], [np.inf])
    assert estimates.values.tolist() == [2, 2, 2]


def clients(*parts: tuple[np.ndarray, list[int]]) -> ClientExamples:
    pytest.importorskip("scipy")
    features = np.concatenate([x for x, _ in parts])
    labels = np.concatenate([np.array(y, np.int32) for _, y in parts])
    return ClientExamples(features, labels, np.cumsum([0, *(len(y) for _, y in parts)]))


def test_by_hand_without_features() -> None:
    """x = 0, two classes, all examples of class 0, ridge r: biases (b, -b) by symmetry.

    The objective is log(1 + exp(-2b)) + r b^2, with slope 0 where r b = 1 / (1 + exp(2b)). For
    b = 1/2 that is r = 2 / (1 + e), and the loss without the penalty is log(1 + 1/e). A client with
    equally many examples of both classes has b = 0 and loss log 2.
    """
    model = SoftmaxRegression(1, 2, ridge=2 / (1 + math.e))
    data = clients((np.zeros((5, 1)), [0] * 5), (np.zeros((4, 1)), [0, 1, 1, 0]))
    found = trained_minima(model, AsStored(), data)
    np.testing.assert_allclose(found, [math.log1p(1 / math.e), math.log(2)], rtol=1e-4)


def test_no_other_model_is_better_for_the_client() -> None:
    """Compared with 20,000 steps of gradient descent on loss plus penalty."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 3)), rng.integers(0, 4, 40)
    model = SoftmaxRegression(3, 4, ridge=0.05)
    least = trained_minima(model, AsStored(), clients((x, y.tolist())))[0]

    def loss(weights: np.ndarray) -> float:
        logits = x @ weights[:3] + weights[3]
        return float(np.mean(np.log(np.exp(logits).sum(1)) - logits[np.arange(40), y]))

    weights = np.zeros((4, 4))
    onehot = np.eye(4)[y]
    with_one = np.column_stack([x, np.ones(40)])
    for _ in range(20_000):
        chances = np.exp(with_one @ weights)
        chances /= chances.sum(1, keepdims=True)
        weights -= 0.1 * (with_one.T @ (chances - onehot) / 40 + 0.05 * weights)
    assert least == pytest.approx(loss(weights), rel=1e-3)
    assert least < math.log(4)


def test_inputs_are_what_the_model_reads() -> None:
    """Pixels count as 0..1, in any shape."""
    pixels = np.random.default_rng(1).integers(0, 256, (30, 2, 2), np.uint8)
    labels = (pixels[:, 0, 0] > 128).astype(int).tolist()
    model = SoftmaxRegression(4, 2, ridge=0.01, input_shape=(2, 2))
    flat = SoftmaxRegression(4, 2, ridge=0.01)
    by_pixels = trained_minima(model, ScaledPixels(), clients((pixels, labels)))
    scaled = clients((pixels.reshape(30, 4) / 255, labels))
    np.testing.assert_allclose(by_pixels, trained_minima(flat, AsStored(), scaled), rtol=1e-4)


def test_a_client_without_examples_and_a_model_without_minimum() -> None:
    data = clients((np.zeros((2, 1)), [0, 1]), (np.zeros((0, 1)), []))
    assert trained_minima(SoftmaxRegression(1, 2, ridge=1.0), AsStored(), data)[1] == 0
    with pytest.raises(ValueError, match="ridge is 0.0: must be above 0"):
        trained_minima(SoftmaxRegression(1, 2), AsStored(), data)


def test_a_client_that_does_not_converge_is_named() -> None:
    data = clients((np.full((2, 1), np.nan), [0, 1]))
    with pytest.raises(ValueError, match="client 0: training it alone does not converge"):
        trained_minima(SoftmaxRegression(1, 2, ridge=1.0), AsStored(), data)
