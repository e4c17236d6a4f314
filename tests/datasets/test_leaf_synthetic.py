"""App. G1's generator against its definition, by its statistics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.datasets import LeafSynthetic, Synthetic

N = 200


def leaf_synthetic(n: int, beta: float = 0.5, seed: int = 0, **given: Any) -> FederatedData:
    given = {"synthetic_alpha": 0.5, "synthetic_beta": beta, "data_seed": seed, **given}
    return LeafSynthetic(num_clients=n, **given).build()


@pytest.fixture(scope="module")
def data() -> FederatedData:
    return leaf_synthetic(N)


def features_of(data: FederatedData, k: int) -> np.ndarray:
    return np.concatenate([data.train.client(k)[0], data.test.client(k)[0]]).astype(np.float64)


def test_shapes_and_split(data: FederatedData) -> None:
    """90% of each client's examples train, rounded down: of the least, 50, it is 45."""
    for part in (data.train, data.test):
        assert part.num_clients == N
        assert (part.features.dtype, part.labels.dtype) == (np.float32, np.int32)
        assert part.features.shape == (len(part.labels), 60)
        assert set(np.unique(part.labels)) == set(range(10))
    total = data.train.sizes + data.test.sizes
    assert data.train.sizes.tolist() == [int(0.9 * n) for n in total]
    assert total.min() >= 50
    assert data.num_classes == 10


def test_sizes_are_those_of_the_generator_it_follows(data: FederatedData) -> None:
    """log(n - 50 + 1/2) has mean 4.002 and deviation 1.992 (see test_synthetic.py)."""
    logs = np.log(data.train.sizes + data.test.sizes - 50 + 0.5)
    assert abs(logs.mean() - 4.002) < 4 * 2 / math.sqrt(N)
    assert abs(logs.std() - 1.992) < 4 * 2 / math.sqrt(2 * N)


@pytest.mark.parametrize(("spread", "power"), [("deviation", -1.2), ("variance", -0.6)])
def test_spread_of_feature_j_is_j_to_the_minus_1_2(spread: str, power: float) -> None:
    """Pooled within-client deviation; relative error 1 / sqrt(2 (n - N)), 60 features within 5.

    A variance of j^-1.2 is a deviation of j^-0.6: feature 2 differs by a factor 1.5.
    """
    drawn = leaf_synthetic(N, feature_spread=spread)
    within = [features_of(drawn, k) for k in range(N)]
    squares = sum(((x - x.mean(axis=0)) ** 2).sum(axis=0) for x in within)
    freedom = sum(len(x) for x in within) - N
    ratio = np.sqrt(squares / freedom) / np.arange(1, 61) ** power
    assert np.max(np.abs(ratio - 1)) < 5 / math.sqrt(2 * freedom)


def test_the_spread_moves_only_the_distance_from_a_clients_mean(data: FederatedData) -> None:
    """The same draws: sizes are equal, and so is feature 1, whose spread is 1 either way."""
    wide = leaf_synthetic(N, feature_spread="variance")
    np.testing.assert_array_equal(wide.train.offsets, data.train.offsets)
    np.testing.assert_array_equal(wide.train.features[:, 0], data.train.features[:, 0])
    assert np.any(wide.train.features[:, 1] != data.train.features[:, 1])


def test_sizes_that_follow_no_power_law() -> None:
    """7000 / 100 = 70; 7000 / (50 * 10 + 50) = 12.7: 12 each and 127, of which 10 and 114 train."""
    even = leaf_synthetic(100, client_sizes="even")
    assert set(even.train.sizes) == {63} and set(even.test.sizes) == {7}
    augmented = leaf_synthetic(100, client_sizes="augmented")
    assert augmented.train.sizes.tolist() == [114] * 50 + [10] * 50
    assert augmented.test.sizes.tolist() == [13] * 50 + [2] * 50


@pytest.mark.parametrize("beta", [0.0, 0.5, 2.0])
def test_beta_is_the_deviation_of_the_clients_mean_features(beta: float) -> None:
    """The mean of v_k over its 60 features is N(0, beta^2 + 1/60), within a client they vary by 1.

    Relative errors sqrt(2 / N) = 10% and, 59 N degrees of freedom, 1.3%.
    """
    drawn = leaf_synthetic(N, beta, seed=7)
    means = np.array([features_of(drawn, k).mean(axis=0) for k in range(N)])
    between = np.mean(means.mean(axis=1) ** 2)
    assert between == pytest.approx(beta**2 + 1 / 60, rel=4.5 * math.sqrt(2 / N))
    assert np.mean(means.var(axis=1, ddof=1)) == pytest.approx(1, rel=0.06)


def test_labels_of_a_client_are_linear_in_its_features(data: FederatedData) -> None:
    """A linear fit to one-hot labels beats one to shuffled labels.

    On the client, of those with 1000 examples, whose commonest class has the smallest share.
    """

    def commonest(k: int) -> float:
        return float(np.bincount(data.train.client(k)[1]).max() / data.train.sizes[k])

    k = min(np.flatnonzero(data.train.sizes >= 1000), key=commonest)
    x, y = data.train.client(k)
    x = np.column_stack([x, np.ones(len(x))])

    def accuracy(labels: np.ndarray) -> float:
        fit = np.linalg.lstsq(x, np.eye(10)[labels], rcond=None)[0]
        return float(np.mean(np.argmax(x @ fit, axis=1) == labels))

    assert accuracy(y) > accuracy(np.random.default_rng(0).permutation(y)) + 0.1
    assert accuracy(y) > 0.7


def test_alpha_moves_no_label() -> None:
    """mu_k adds mu_k (1 + sum_j x_j) to every logit alike, as in `synthetic`."""
    one, other = (leaf_synthetic(50, 1.0, 3, synthetic_alpha=alpha) for alpha in (0.0, 1.0))
    np.testing.assert_array_equal(one.train.features, other.train.features)
    assert np.mean(one.train.labels != other.train.labels) < 1e-4


def test_it_is_a_function_of_the_seed_with_a_stream_of_its_own() -> None:
    one, same, other = (leaf_synthetic(5, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.test.features, same.test.features)
    np.testing.assert_array_equal(one.train.labels, same.train.labels)
    assert not np.array_equal(one.train.offsets, other.train.offsets)
    assert not np.array_equal(
        one.train.offsets, Synthetic(num_clients=5, data_seed=1).build().train.offsets
    )
