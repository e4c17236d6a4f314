"""CIFAR-10 from small files: by Dirichlet allocation, and with one class per client."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.core.errors import DataError
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.datasets import CIFAR10
from f3ast_tff.datasets.cifar10 import CIFAR10OneClass, one_class_shares
from f3ast_tff.datasets.cifar_files import CifarFiles
from tests.datasets.tiny_files import pack


def cifar10(folder: Path, num_clients: int, s: float, seed: int, **given: Any) -> FederatedData:
    given = {"num_clients": num_clients, "dirichlet_s": s, "data_seed": seed, **given}
    return CIFAR10(data_dir=str(folder), **given).build()


def test_classes_of_clients_or_clients_of_classes(
    tmp_path: Path, cifar10_files: CifarFiles
) -> None:
    """s = 10^-3: each client has one class, or each class one client."""
    by_class = cifar10(tmp_path, 20, 1e-3, 0).train
    by_client = cifar10(tmp_path, 20, 1e-3, 0, dirichlet_draws="classes_of_client").train
    kinds = [[len(np.unique(d.client(k)[1])) for k in range(20)] for d in (by_class, by_client)]
    assert np.median(kinds[1]) == 1
    # Ten classes of 20 images go to at most ten clients; each remaining client is given one image.
    assert np.count_nonzero(by_class.sizes > 1) <= 10
    assert np.count_nonzero(by_client.sizes > 1) > 10


def test_a_damaged_original_is_noticed_and_the_mended_one_taken(
    tmp_path: Path, cifar10_files: CifarFiles
) -> None:
    """Both before and after the data were prepared."""
    path = tmp_path / "cifar-10-batches-py/data_batch_2"
    content = path.read_bytes()
    damaged = bytearray(content)
    damaged[50_000] ^= 1
    for prepared in (False, True):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match="data_batch_2 .* not those of CIFAR-10"):
            cifar10(tmp_path, 8, 0.5, 0)
        path.write_bytes(content)
        assert cifar10(tmp_path, 8, 0.5, 0).train.sizes.sum() == 200, prepared


def test_other_files_of_the_same_images_are_prepared_apart(
    tmp_path: Path, cifar10_files: CifarFiles
) -> None:
    """Four batches of the distributor's that are not the known subset of four."""
    (tmp_path / "cifar-10-batches-py/data_batch_5").unlink()
    first = cifar10_files.key(tmp_path)
    path = tmp_path / "cifar-10-batches-py/data_batch_1"
    path.write_bytes(path.read_bytes() + b"after the end")
    assert cifar10_files.key(tmp_path) != first
    cifar10(tmp_path, 8, 0.5, 0)


def test_data_of_the_archive_open_without_it(tmp_path: Path, cifar10_files: CifarFiles) -> None:
    files = pack(tmp_path, cifar10_files)
    key = files.key(tmp_path)
    (tmp_path / files.archive).unlink()
    assert files.key(tmp_path) == key


def test_each_client_has_one_class(tmp_path: Path, cifar10_files: CifarFiles) -> None:
    """40 clients: client k has class k // 4; each class has 20 training and 5 test images."""
    data = CIFAR10OneClass(data_dir=str(tmp_path), num_clients=40).build()
    for k in range(40):
        assert set(data.train.client(k)[1]) == {k // 4}
        assert set(data.test.client(k)[1]) <= {k // 4}
    assert np.all(data.train.sizes.reshape(10, 4).sum(axis=1) == 20)
    assert np.all(data.test.sizes.reshape(10, 4).sum(axis=1) == 5)
    assert len(np.unique(data.train.features.reshape(200, -1), axis=0)) == 200
    assert (data.train.features.dtype, data.train.labels.dtype) == (np.uint8, np.int32)


def test_shares_are_those_of_a_cut_normal() -> None:
    """1000 clients per class: N(1, 0.2^2) cut at two deviations, over the sum.

    P(|z| > 2) = 0.0455 are at an end. The variance of z cut at 2 is
    2 (1/2 - Q - 2 phi) + 8 Q = 0.9205, with phi(2) = 0.05399 and Q(2) = 0.02275. For 10,000 draws
    and a fourth moment below 2.5, the variance's standard error is below
    sqrt((2.5 - 0.85) / 10^4) = 0.013.
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
