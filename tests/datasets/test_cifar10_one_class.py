"""CIFAR-10 with one class a client."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from f3ast_tff.datasets.cifar10 import CIFAR10OneClass, one_class_shares
from f3ast_tff.datasets.cifar_files import CifarFiles


def test_each_client_has_one_class(tmp_path: Path, cifar10_files: CifarFiles) -> None:
    """40 clients: client k has class k // 4; 20 training and 5 test images a class."""
    data = CIFAR10OneClass(data_dir=str(tmp_path), num_clients=40).build()
    for k in range(40):
        assert set(data.train.client(k)[1]) == {k // 4}
        assert set(data.test.client(k)[1]) <= {k // 4}
    assert np.all(data.train.sizes.reshape(10, 4).sum(axis=1) == 20)
    assert np.all(data.test.sizes.reshape(10, 4).sum(axis=1) == 5)
    assert len(np.unique(data.train.features.reshape(200, -1), axis=0)) == 200
    assert (data.train.features.dtype, data.train.labels.dtype) == (np.uint8, np.int32)


def test_shares_are_those_of_a_cut_normal() -> None:
    """1000 clients of a class: N(1, 0.2^2) cut at two deviations, over the sum.

    P(|z| > 2) = 0.0455 are at an end. Variance of z cut at 2: 2 (1/2 - Q - 2 phi) + 8 Q = 0.9205
    with phi(2) = 0.05399 and Q(2) = 0.02275. 10,000 draws; fourth moment below 2.5, so that the
    variance's standard error is below sqrt((2.5 - 0.85) / 10^4) = 0.013.
    """
    shares = one_class_shares(10, 10_000, 0.2, seed=0)
    assert np.all((shares > 0).sum(axis=0) == 1)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    sizes = shares[shares > 0].reshape(10, 1000)
    z = (sizes / sizes.mean(axis=1, keepdims=True) - 1) / 0.2
    assert np.var(z) == pytest.approx(0.9205, abs=0.052)
    ends = np.mean(np.isclose(sizes, sizes.max(axis=1, keepdims=True))) + np.mean(
        np.isclose(sizes, sizes.min(axis=1, keepdims=True))
    )
    assert ends == pytest.approx(0.0455, abs=4.5 * np.sqrt(0.0455 / 10_000))
    ratio = sizes.max(axis=1) / sizes.min(axis=1)
    np.testing.assert_allclose(ratio, 1.4 / 0.6)


def test_no_spread_is_even(tmp_path: Path, cifar10_files: CifarFiles) -> None:
    data = CIFAR10OneClass(data_dir=str(tmp_path), num_clients=40, size_spread=0.0).build()
    assert data.train.sizes.tolist() == [5] * 40


def test_shares_are_a_function_of_the_seed() -> None:
    one, same, other = (one_class_shares(10, 100, 0.2, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)
