"""Synthetic(alpha, beta) against its definition, by its statistics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.datasets import Synthetic

N = 200


def synthetic(n: int, alpha: float, beta: float, seed: int, **given: Any) -> FederatedData:
    given = {"synthetic_alpha": alpha, "synthetic_beta": beta, "data_seed": seed, **given}
    return Synthetic(num_clients=n, **given).build()


@pytest.fixture(scope="module")
def data() -> FederatedData:
    return synthetic(N, 1.0, 1.0, 0)


def all_features(data: FederatedData, k: int) -> np.ndarray:
    return np.concatenate([data.train.client(k)[0], data.test.client(k)[0]]).astype(np.float64)


def client_means(data: FederatedData) -> np.ndarray:
    return np.array([all_features(data, k).mean(axis=0) for k in range(data.train.num_clients)])


def test_shapes_and_types(data: FederatedData) -> None:
    for part in (data.train, data.test):
        assert part.num_clients == N
        assert (part.features.dtype, part.labels.dtype) == (np.float32, np.int32)
        assert part.features.shape == (len(part.labels), 60)
        assert np.all((part.labels >= 0) & (part.labels < 10))
    assert data.num_classes == 10


def test_nine_tenths_of_each_client_train(data: FederatedData) -> None:
    """Rounded down: of the least, 50 examples, 45 train."""
    total = data.train.sizes + data.test.sizes
    assert data.train.sizes.tolist() == [int(0.9 * n) for n in total]
    assert total.min() >= 50


def test_sizes_are_a_lognormal_cut_to_integers() -> None:
    """P(n - 50 <= m) = P(X < m + 1) = Phi((log(m + 1) - 4) / 2), X ~ lognormal(4, 2).

    At m = 0, 6, 53, 402 that is Phi of -2, -1.03, -0.006, 1.0; over 800 clients the standard
    errors are at most 0.018. log(n - 50 + 1/2) has mean 4.002 and deviation 1.992 (4 and 2 but for
    the cut: summed over these probabilities), standard errors 2 / sqrt(800) and 2 / sqrt(1600).
    """
    parts = [synthetic(N, 0.0, 0.0, seed) for seed in range(1, 5)]
    extra = np.concatenate([part.train.sizes + part.test.sizes for part in parts]) - 50
    for m in (0, 6, 53, 402):
        expected = 0.5 * (1 + math.erf((math.log(m + 1) - 4) / 2 / math.sqrt(2)))
        error = math.sqrt(expected * (1 - expected) / len(extra))
        assert abs(np.mean(extra <= m) - expected) < 3.5 * error
    logs = np.log(extra + 0.5)
    assert abs(logs.mean() - 4.002) < 3.5 * 2 / math.sqrt(800)
    assert abs(logs.std() - 1.992) < 3.5 * 2 / math.sqrt(1600)


def test_features_vary_as_j_to_the_minus_1_2(data: FederatedData) -> None:
    """Pooled within-client variance of feature j; relative error sqrt(2 / (n - N)) of chi-square.

    60 features, each within 5 of them. A deviation of j^-1.2 in place of the variance would be
    off by a factor 1/2 at j = 2 already.
    """
    within = [all_features(data, k) for k in range(N)]
    squares = sum(((x - x.mean(axis=0)) ** 2).sum(axis=0) for x in within)
    freedom = sum(len(x) for x in within) - N
    expected = np.arange(1, 61) ** -1.2
    assert np.max(np.abs(squares / freedom / expected - 1)) < 5 * math.sqrt(2 / freedom)


@pytest.mark.parametrize("beta", [0.0, 1.0, 2.0])
def test_beta_is_the_deviation_of_the_clients_mean_features(beta: float) -> None:
    """The mean of v_k over its 60 features is N(0, beta^2 + 1/60): chi-square over N clients.

    Relative error sqrt(2 / N) = 10%. (The sampling error of a client's mean adds
    sum_j j^-1.2 / 60^2 / 50 = 2e-5 at most.) Within a client the v_k vary with deviation 1:
    59 N degrees of freedom, relative error 1.3%, plus mean j^-1.2 / n_k < 0.001.
    """
    means = client_means(synthetic(N, 1.0, beta, seed=7))
    between = np.mean(means.mean(axis=1) ** 2)
    assert between == pytest.approx(beta**2 + 1 / 60, rel=4.5 * math.sqrt(2 / N))
    assert np.mean(means.var(axis=1, ddof=1)) == pytest.approx(1, rel=0.06)


def test_alpha_moves_no_label() -> None:
    """W_k, b_k ~ N(u_k, 1) puts u_k (1 + sum_j x_j) on every class alike: argmax stays.

    With the same seed, alpha changes nothing but the rounding of scores: a property of the
    published generator, not of this one.
    """
    one, other = synthetic(50, 0.0, 1.0, seed=3), synthetic(50, 1.0, 1.0, seed=3)
    np.testing.assert_array_equal(one.train.features, other.train.features)
    assert np.mean(one.train.labels != other.train.labels) < 1e-4


def test_no_class_is_preferred(data: FederatedData) -> None:
    """Classes are exchangeable: over clients the mean share of each is 1/10.

    Clients are independent, so the standard error comes from their spread; 10 classes within 4.5.
    """
    shares = np.array(
        [np.bincount(data.train.client(k)[1], minlength=10) / data.train.sizes[k] for k in range(N)]
    )
    error = shares.std(axis=0, ddof=1) / math.sqrt(N)
    assert np.all(np.abs(shares.mean(axis=0) - 0.1) < 4.5 * error)


def test_labels_of_a_client_are_linear_in_its_features(data: FederatedData) -> None:
    """y = argmax(x W + b): least squares on one-hot labels of a large client fits most of them.

    With shuffled labels the same fit is no better than the largest class.
    """
    k = int(np.argmax(data.train.sizes))
    x, y = data.train.client(k)
    x = np.column_stack([x[:4000], np.ones(len(x[:4000]))])
    y = y[:4000]

    def accuracy(labels: np.ndarray) -> float:
        fit = np.linalg.lstsq(x, np.eye(10)[labels], rcond=None)[0]
        return float(np.mean(np.argmax(x @ fit, axis=1) == labels))

    shuffled = np.random.default_rng(0).permutation(y)
    assert accuracy(y) > accuracy(shuffled) + 0.1
    assert accuracy(y) > 0.7


@pytest.mark.parametrize("draws", ["generator", "legacy"])
def test_data_is_a_function_of_the_seed(draws: str) -> None:
    one, same, other = (synthetic(5, 1.0, 1.0, seed, data_generator=draws) for seed in (1, 1, 2))
    for part in ("train", "test"):
        for name in ("features", "labels", "offsets"):
            first = getattr(getattr(one, part), name)
            assert np.array_equal(first, getattr(getattr(same, part), name))
            assert not np.array_equal(first, getattr(getattr(other, part), name))


def test_legacy_data_of_seed_0() -> None:
    """The draw of 100 clients after `numpy.random.seed(0)`; sizes are those for training.

    Of the training examples the largest client holds 0.1255, of the batches of 20 0.1228, which
    are the shares p_k of the released code.
    """
    sizes = synthetic(100, 1.0, 1.0, 0, data_generator="legacy").train.sizes
    assert (sizes.sum(), sizes[:5].tolist()) == (36998, [1718, 153, 392, 4388, 2103])
    batches = np.ceil(sizes / 20)
    assert round(sizes.max() / sizes.sum(), 4) == 0.1255
    assert round(batches.max() / batches.sum(), 4) == 0.1228


def published_draws(
    num_clients: int, alpha: float, beta: float, seed: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """FedProx's definition, draw by draw: all sizes, prior means, then W, b, x of each client."""
    rng = np.random.RandomState(seed)  # The stream of numpy.random after numpy.random.seed.
    sizes = rng.lognormal(4, 2, num_clients).astype(int) + 50
    model_mean = rng.normal(0, alpha, num_clients)
    center = rng.normal(0, beta, num_clients)
    covariance = np.diag([np.power(j + 1, -1.2) for j in range(60)])
    feature_mean = [rng.normal(center[k], 1, 60) for k in range(num_clients)]
    clients = []
    for k in range(num_clients):
        weights, bias = rng.normal(model_mean[k], 1, (60, 10)), rng.normal(model_mean[k], 1, 10)
        x = rng.multivariate_normal(feature_mean[k], covariance, sizes[k])
        powers = [np.exp(row @ weights + bias) for row in x]
        clients.append((x, np.array([np.argmax(e / e.sum()) for e in powers])))
    return clients


@pytest.mark.parametrize(("alpha", "beta", "seed"), [(1.0, 1.0, 0), (0.5, 0.0, 3)])
def test_legacy_data_is_that_of_the_published_code(alpha: float, beta: float, seed: int) -> None:
    """Softmax in double precision moves no maximum here; the covariance is diagonal."""
    drawn = synthetic(20, alpha, beta, seed, data_generator="legacy")
    for k, (x, y) in enumerate(published_draws(20, alpha, beta, seed)):
        features, labels = zip(drawn.train.client(k), drawn.test.client(k))
        np.testing.assert_array_equal(np.concatenate(features), x.astype(np.float32))
        np.testing.assert_array_equal(np.concatenate(labels), y)


def test_legacy_data_leaves_the_global_generator_alone() -> None:
    before = np.random.get_state()[1].copy()
    synthetic(2, 1.0, 1.0, 0, data_generator="legacy")
    np.testing.assert_array_equal(np.random.get_state()[1], before)


def test_a_limit_cuts_the_largest_clients() -> None:
    whole, cut = synthetic(30, 1.0, 1.0, 0), synthetic(30, 1.0, 1.0, 0, size_limit=100)
    sizes = whole.train.sizes + whole.test.sizes
    assert sizes.max() > 100
    np.testing.assert_array_equal(cut.train.sizes + cut.test.sizes, np.minimum(sizes, 100))
