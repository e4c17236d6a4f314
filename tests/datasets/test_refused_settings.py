"""Settings that do not fit the data; bounds of one setting are its declaration's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from f3ast_tff import datasets
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.datasets.cifar_files import CifarFiles
from f3ast_tff.datasets.mnist_files import MnistFiles

DIRICHLET = {"dirichlet_s": 0.5, "seed": 0}
# 200 training images of CIFAR-10, 20 a class, and 160 of MNIST once a fifth is set aside. One class
# a client: the least share is 0.6 / 1.4 of the greatest, so 8 clients a class.
CASES: list[tuple[str, dict[str, Any], str]] = [
    ("synthetic_linear", {"num_clients": 5001}, "num_clients"),
    ("cifar10", {"num_clients": 201, **DIRICHLET}, "num_clients"),
    ("cifar10_one_class", {"num_clients": 15}, "num_clients"),
    ("cifar10_one_class", {"num_clients": 90}, "num_clients"),
    ("cifar100", {"num_clients": 499}, "num_clients"),
    ("cifar100", {"num_test_clients": 3}, "num_test_clients"),
    ("mnist", {"num_clients": 161, **DIRICHLET}, "num_clients"),
    ("mnist", {"num_clients": 8, "num_groups": 9, **DIRICHLET}, "dirichlet_groups"),
]


@pytest.mark.parametrize(("name", "settings", "refused"), CASES)
def test_settings_that_do_not_fit_are_named(
    name: str,
    settings: dict[str, Any],
    refused: str,
    tmp_path: Path,
    cifar10_files: CifarFiles,
    mnist_files: MnistFiles,
) -> None:
    folder = {} if name == "synthetic_linear" else {"data_dir": tmp_path}
    with pytest.raises(ParameterError) as caught:
        getattr(datasets, name)(**folder, **settings)
    assert caught.value.name == refused


def test_fewer_images_than_clients_and_just_enough(
    tmp_path: Path, cifar10_files: CifarFiles
) -> None:
    assert datasets.cifar10_one_class(tmp_path, 80, 0.2, 0).train.sizes.min() >= 1
    (tmp_path / "cifar-10-batches-py/data_batch_5").unlink()
    assert datasets.cifar10(tmp_path, 160, 0.5, 0).train.sizes.tolist() == [1] * 160
    with pytest.raises(ParameterError, match="num_clients = 161"):
        datasets.cifar10(tmp_path, 161, 0.5, 0)
