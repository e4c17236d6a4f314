"""Generated data, compared with their definitions by statistics."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.cli.main import main
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.datasets import LeafSynthetic, Synthetic, SyntheticLinear
from f3ast_tff.datasets.synthetic import AlphaBetaTaskConfig

N = 200
KINDS: dict[str, type[AlphaBetaTaskConfig]] = {"synthetic": Synthetic, "leaf": LeafSynthetic}
kinds = pytest.mark.parametrize("kind", KINDS)


def made(kind: str, n: int, **given: Any) -> FederatedData:
    return KINDS[kind](
        num_clients=n, **{"synthetic_alpha": 0.5, "synthetic_beta": 0.5, **given}
    ).build()


def synthetic(n: int, alpha: float, beta: float, seed: int, **given: Any) -> FederatedData:
    given = {"synthetic_alpha": alpha, "synthetic_beta": beta, "data_seed": seed, **given}
    return made("synthetic", n, **given)


BETAS = (0.0, 0.5, 2.0)


@pytest.fixture(scope="module", params=KINDS)
def draws(request: pytest.FixtureRequest) -> list[FederatedData]:
    """Four draws: one with the defaults, then one per beta."""
    with_beta = [
        made(request.param, N, data_seed=seed, synthetic_beta=beta)
        for seed, beta in enumerate(BETAS, start=1)
    ]
    return [made(request.param, N), *with_beta]


@pytest.fixture
def data(draws: list[FederatedData]) -> FederatedData:
    return draws[0]


def all_features(data: FederatedData, k: int) -> np.ndarray:
    return np.concatenate([data.train.client(k)[0], data.test.client(k)[0]]).astype(np.float64)


@pytest.mark.long
def test_shapes_and_split(data: FederatedData) -> None:
    """90% of each client's examples train, rounded down: 45 of the smallest size, 50."""
    for part in (data.train, data.test):
        assert part.num_clients == N
        assert (part.features.dtype, part.labels.dtype) == (np.float32, np.int32)
        assert part.features.shape == (len(part.labels), 60)
        assert set(np.unique(part.labels)) == set(range(10))
    total = data.train.sizes + data.test.sizes
    assert data.train.sizes.tolist() == [int(0.9 * n) for n in total]
    assert total.min() >= 50
    assert data.num_classes == 10


@pytest.mark.long
def test_sizes_are_a_lognormal_cut_to_integers(draws: list[FederatedData]) -> None:
    """P(n - 50 <= m) = P(X < m + 1) = Phi((log(m + 1) - 4) / 2), X ~ lognormal(4, 2).

    At m = 0, 6, 53, 402 this is Phi of -2, -1.03, -0.006, 1.0; over 800 clients the standard errors
    are at most 0.018. log(n - 50 + 1/2) has mean 4.002 and deviation 1.992, summed over these
    probabilities; without the cut they would be 4 and 2. The standard errors are 2 / sqrt(800) and
    2 / sqrt(1600).
    """
    extra = np.concatenate([part.train.sizes + part.test.sizes for part in draws]) - 50
    for m in (0, 6, 53, 402):
        expected = 0.5 * (1 + math.erf((math.log(m + 1) - 4) / 2 / math.sqrt(2)))
        error = math.sqrt(expected * (1 - expected) / len(extra))
        assert abs(np.mean(extra <= m) - expected) < 3.5 * error
    logs = np.log(extra + 0.5)
    assert abs(logs.mean() - 4.002) < 3.5 * 2 / math.sqrt(800)
    assert abs(logs.std() - 1.992) < 3.5 * 2 / math.sqrt(1600)


@pytest.mark.parametrize(
    ("kind", "given", "power"),
    [
        ("synthetic", {}, -0.6),
        ("leaf", {"feature_spread": "deviation"}, -1.2),
        ("leaf", {"feature_spread": "variance"}, -0.6),
    ],
)
def test_spread_of_feature_j_is_j_to_the_minus_1_2(
    kind: str, given: dict[str, Any], power: float
) -> None:
    """Pooled within-client deviation; relative error 1 / sqrt(2 (n - N)), 60 features within 5.

    A variance of j^-1.2 is a deviation of j^-0.6: for feature 2 the two differ by a factor of 1.5.
    """
    drawn = made(kind, N, **given)
    within = [all_features(drawn, k) for k in range(N)]
    squares = sum(((x - x.mean(axis=0)) ** 2).sum(axis=0) for x in within)
    freedom = sum(len(x) for x in within) - N
    ratio = np.sqrt(squares / freedom) / np.arange(1, 61) ** power
    assert np.max(np.abs(ratio - 1)) < 5 / math.sqrt(2 * freedom)


@pytest.mark.long
def test_the_spread_moves_only_the_distance_from_a_clients_mean() -> None:
    """Draws are the same: sizes are equal, and so is feature 1, whose spread is 1 either way."""
    data, wide = (made("leaf", N, feature_spread=each) for each in ("deviation", "variance"))
    np.testing.assert_array_equal(wide.train.offsets, data.train.offsets)
    np.testing.assert_array_equal(wide.train.features[:, 0], data.train.features[:, 0])
    assert np.any(wide.train.features[:, 1] != data.train.features[:, 1])


def test_sizes_that_follow_no_power_law() -> None:
    """Even: 7000 / 100 = 70 per client, 63 of them for training.

    Augmented: 7000 / (50 * 10 + 50) = 12.7, so 12 for one half of the clients and 127 for the
    other; 10 and 114 of them train.
    """
    even = made("leaf", 100, client_sizes="even")
    assert set(even.train.sizes) == {63} and set(even.test.sizes) == {7}
    augmented = made("leaf", 100, client_sizes="augmented")
    assert augmented.train.sizes.tolist() == [114] * 50 + [10] * 50
    assert augmented.test.sizes.tolist() == [13] * 50 + [2] * 50
    with pytest.raises(
        ParameterError, match="num_clients = 700: must leave each client two exampl"
    ):
        made("leaf", 700, client_sizes="augmented")


def test_beta_is_the_deviation_of_the_clients_mean_features(draws: list[FederatedData]) -> None:
    """The mean of v_k over 60 features is N(0, beta^2 + 1/60): chi-square over N clients.

    Its relative error is sqrt(2 / N) = 10%. The sampling error of a client's mean adds at most
    sum_j j^-1.2 / 60^2 / 50 = 2e-5. Within a client the v_k have deviation 1: 59 N degrees of
    freedom, relative error 1.3%, plus mean j^-1.2 / n_k < 0.001.
    """
    for beta, drawn in zip(BETAS, draws[1:]):
        means = np.array([all_features(drawn, k).mean(axis=0) for k in range(N)])
        between = np.mean(means.mean(axis=1) ** 2)
        assert between == pytest.approx(beta**2 + 1 / 60, rel=4.5 * math.sqrt(2 / N))
        assert np.mean(means.var(axis=1, ddof=1)) == pytest.approx(1, rel=0.06)


@kinds
def test_alpha_moves_no_label(kind: str) -> None:
    """W_k, b_k ~ N(u_k, 1) adds u_k (1 + sum_j x_j) to the score of every class: argmax stays.

    With the same seed, alpha only changes the rounding of scores. The property is the published
    generator's.
    """
    one, other = (made(kind, 50, synthetic_alpha=each, data_seed=3) for each in (0.0, 1.0))
    np.testing.assert_array_equal(one.train.features, other.train.features)
    assert np.mean(one.train.labels != other.train.labels) < 1e-4


def test_no_class_is_preferred(data: FederatedData) -> None:
    """Classes are exchangeable: over clients the mean share of each is 1/10.

    Clients are independent, so the standard error comes from their spread. The bound for 10 classes
    is 4.5 standard errors.
    """
    shares = np.array(
        [np.bincount(data.train.client(k)[1], minlength=10) / data.train.sizes[k] for k in range(N)]
    )
    error = shares.std(axis=0, ddof=1) / math.sqrt(N)
    assert np.all(np.abs(shares.mean(axis=0) - 0.1) < 4.5 * error)


def test_labels_of_a_client_are_linear_in_its_features(data: FederatedData) -> None:
    """A linear fit to one-hot labels beats a fit to shuffled labels.

    The client is the one with the smallest share of its commonest class, of clients with 1000
    examples.
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


def test_kinds_have_streams_of_their_own() -> None:
    one, other = (made(kind, 5, data_seed=1).train.offsets for kind in KINDS)
    assert not np.array_equal(one, other)


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


@pytest.mark.long
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


def everything(data: FederatedData) -> tuple[np.ndarray, np.ndarray]:
    x = np.concatenate([data.train.features, data.test.features]).astype(np.float64)
    return x, np.concatenate([data.train.labels, data.test.labels])


@pytest.fixture(scope="module")
def linear() -> FederatedData:
    return SyntheticLinear(num_clients=100).build()


def test_features_are_standard_normal(linear: FederatedData) -> None:
    """10^6 independent values: mean, variance and correlations within 5 standard errors.

    Each of the 4950 correlations has standard error 0.01.
    """
    x, _ = everything(linear)
    assert abs(x.mean()) < 5e-3
    assert abs(x.var() - 1) < 5 * np.sqrt(2e-6)
    correlations = np.corrcoef(x.T) - np.eye(100)
    assert np.abs(correlations).max() < 0.05


def test_labels_are_rounded_linear_values(linear: FederatedData) -> None:
    """y = round(x . b) + shift: least squares on 10^4 examples recovers b and the whole shift.

    So the residuals are the rounding, uniform on [-1/2, 1/2] with deviation 0.289, up to the fit's
    own error. That error has deviation 0.289 sqrt(101 / 10^4) = 0.03, and 6 deviations are 0.17.
    """
    x, y = everything(linear)
    columns = np.column_stack([x, np.ones(len(x))])
    fit = np.linalg.lstsq(columns, y, rcond=None)[0]
    residuals = y - columns @ fit
    assert np.abs(residuals).max() < 0.5 + 0.17
    assert residuals.std() == pytest.approx(np.sqrt(1 / 12), rel=0.03)
    assert abs(fit[-1] - round(fit[-1])) < 0.02
    # |b|^2 is chi-square with 100 degrees of freedom.
    assert 50 < np.sum(fit[:-1] ** 2) < 165
    assert (y.min(), y.max()) == (0, linear.num_classes - 1)
    assert linear.num_classes > 50


def test_examples_are_split_evenly() -> None:
    """10000 = 3 x 3333 + 1; of 3333 examples 2999 are for training."""
    part = SyntheticLinear(num_clients=3).build()
    sizes = part.train.sizes + part.test.sizes
    assert sorted(sizes) == [3333, 3333, 3334]
    assert part.train.sizes.tolist() == [int(0.9 * n) for n in sizes]
    assert (part.train.features.dtype, part.train.labels.dtype) == (np.float32, np.int32)


def test_every_example_is_used_once_whatever_the_number_of_clients() -> None:
    one, many = (everything(SyntheticLinear(num_clients=n).build()) for n in (1, 5000))
    order_one, order_many = np.argsort(one[0][:, 0]), np.argsort(many[0][:, 0])
    for first, second in zip(one, many):
        np.testing.assert_array_equal(first[order_one], second[order_many])


def test_data_that_will_not_fit_are_refused_before_they_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A million clients need some 300 GiB; smaller data have their size said."""
    given = ["f3ast-tff", "run", "--rounds=1", f"--output_dir={tmp_path}", "--engine=host"]
    assert main([*given, "--num_clients=1000000"]) == 2
    assert "--num_clients=1000000: needs some 306 GiB for the data, and " in capsys.readouterr().err
    expected = Synthetic(num_clients=40, size_limit=60).expected_bytes()
    assert expected == 40 * (60 * 60 * 12 + 2000)
    monkeypatch.setattr("f3ast_tff.datasets.task._LARGE", expected - 1)
    assert main([*given, "--num_clients=40", "--size_limit=60", "--clients_per_round=2"]) == 0
    assert "the data of 40 clients take some 0.0 GiB" in capsys.readouterr().err


def test_the_expected_size_is_that_of_many_clients() -> None:
    """The law's mean is e^6 + 50, half an example less by rounding down."""
    sizes = [Synthetic(num_clients=300, data_seed=seed, size_limit=2000) for seed in range(3)]
    for task in sizes:
        examples = task.build().train.sizes.sum() / 0.9
        assert examples * 60 * 12 < task.expected_bytes() < 10 * examples * 60 * 12
