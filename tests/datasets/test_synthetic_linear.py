"""App. C's generator against its definition."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.datasets import SyntheticLinear


def synthetic_linear(n: int, seed: int) -> FederatedData:
    return SyntheticLinear(num_clients=n, data_seed=seed).build()


@pytest.fixture(scope="module")
def data() -> FederatedData:
    return synthetic_linear(100, seed=0)


def everything(data: FederatedData) -> tuple[np.ndarray, np.ndarray]:
    parts = (data.train, data.test)
    x = np.concatenate([part.features for part in parts]).astype(np.float64)
    return x, np.concatenate([part.labels for part in parts])


def test_ten_thousand_examples_split_evenly(data: FederatedData) -> None:
    assert data.train.sizes.tolist() == 100 * [90]
    assert data.test.sizes.tolist() == 100 * [10]
    assert data.train.features.shape == (9000, 100)
    assert (data.train.features.dtype, data.train.labels.dtype) == (np.float32, np.int32)


def test_features_are_standard_normal(data: FederatedData) -> None:
    """10^6 independent values: mean, variance and correlations within 5 standard errors.

    Of 4950 correlations, each of standard error 0.01, none is beyond 5.
    """
    x, _ = everything(data)
    assert abs(x.mean()) < 5e-3
    assert abs(x.var() - 1) < 5 * np.sqrt(2e-6)
    correlations = np.corrcoef(x.T) - np.eye(100)
    assert np.abs(correlations).max() < 0.05


def test_labels_are_rounded_linear_values(data: FederatedData) -> None:
    """y = round(x . b) + shift: least squares on 10^4 examples recovers b and the whole shift.

    The residuals are then the rounding, uniform on [-1/2, 1/2] with deviation 0.289, up to the
    fit's own error: its deviation is 0.289 sqrt(101 / 10^4) = 0.03, 6 of them 0.17.
    """
    x, y = everything(data)
    columns = np.column_stack([x, np.ones(len(x))])
    fit = np.linalg.lstsq(columns, y, rcond=None)[0]
    residuals = y - columns @ fit
    assert np.abs(residuals).max() < 0.5 + 0.17
    assert residuals.std() == pytest.approx(np.sqrt(1 / 12), rel=0.03)
    assert abs(fit[-1] - round(fit[-1])) < 0.02
    # |b|^2 is chi-square with 100 degrees of freedom.
    assert 50 < np.sum(fit[:-1] ** 2) < 165


def test_classes_run_from_the_least_to_the_greatest_value(data: FederatedData) -> None:
    _, y = everything(data)
    assert (y.min(), y.max()) == (0, data.num_classes - 1)
    assert data.num_classes > 50


def test_clients_are_alike(data: FederatedData) -> None:
    """One b for all: the fit on half of the clients predicts the labels of the others."""
    rows = data.train.offsets[50]
    x, y = data.train.features.astype(np.float64), data.train.labels
    columns = np.column_stack([x, np.ones(len(x))])
    fit = np.linalg.lstsq(columns[:rows], y[:rows], rcond=None)[0]
    assert np.abs(y[rows:] - columns[rows:] @ fit).max() < 0.5 + 0.35


def test_sizes_differ_by_at_most_one() -> None:
    """10000 = 3 x 3333 + 1; of 3333 it is 2999 for training."""
    data = synthetic_linear(3, seed=0)
    assert sorted(data.train.sizes + data.test.sizes) == [3333, 3333, 3334]
    assert data.train.sizes.tolist() == [int(0.9 * n) for n in data.train.sizes + data.test.sizes]


def test_every_example_is_used_once_whatever_the_number_of_clients() -> None:
    one, many = (everything(synthetic_linear(n, seed=4)) for n in (1, 5000))
    order_one, order_many = np.argsort(one[0][:, 0]), np.argsort(many[0][:, 0])
    for first, second in zip(one, many):
        np.testing.assert_array_equal(first[order_one], second[order_many])


def test_data_is_a_function_of_the_seed() -> None:
    one, same, other = (everything(synthetic_linear(100, seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one[0], same[0])
    np.testing.assert_array_equal(one[1], same[1])
    assert not np.array_equal(one[0], other[0])
