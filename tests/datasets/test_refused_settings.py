"""Settings that do not fit the data, beyond the bounds in a setting's declaration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.datasets.cifar_files import CifarFiles
from f3ast_tff.datasets.mnist_files import MnistFiles
from f3ast_tff.settings import builtin_registry

# CIFAR-10 has 200 training images, 20 per class; MNIST has 160 after a fifth is set aside. With one
# class per client the smallest share is 0.6 / 1.4 of the largest, so 8 clients per class.
CASES: list[tuple[str, dict[str, Any], str]] = [
    ("synthetic_linear", {"num_clients": 5001}, "num_clients = 5001: must be at most 5000"),
    ("cifar10", {"num_clients": 201}, "num_clients = 201: must be from 1 to 200"),
    ("cifar10_one_class", {"num_clients": 15}, "num_clients = 15: must be a multiple of 10"),
    ("cifar10_one_class", {"num_clients": 90}, "num_clients = 90: must be a multiple of 10"),
    ("cifar100", {"num_clients": 499}, "num_clients = 499: must divide 400"),
    ("mnist", {"num_clients": 161}, "num_clients = 161: must be from 1 to 160"),
    ("mnist", {"num_clients": 8, "dirichlet_groups": 9}, "dirichlet_groups = 9: must be at most"),
]


def sizes(name: str, folder: Path, **given: Any) -> list[int]:
    config = builtin_registry().find("task", name).config
    if hasattr(config, "folder"):
        given["data_dir"] = str(folder)
    return config(**given).build().train.sizes.tolist()


@pytest.mark.parametrize(("name", "given", "message"), CASES)
def test_settings_that_do_not_fit_are_named(
    name: str,
    given: dict[str, Any],
    message: str,
    tmp_path: Path,
    cifar10_files: CifarFiles,
    cifar100_files: CifarFiles,
    mnist_files: MnistFiles,
) -> None:
    with pytest.raises(ParameterError, match=message):
        sizes(name, tmp_path, **given)


def test_fewer_images_than_clients_and_just_enough(
    tmp_path: Path, cifar10_files: CifarFiles
) -> None:
    assert min(sizes("cifar10_one_class", tmp_path, num_clients=80)) >= 1
    (tmp_path / "cifar-10-batches-py/data_batch_5").unlink()
    assert sizes("cifar10", tmp_path, num_clients=160) == [1] * 160
    with pytest.raises(ParameterError, match="num_clients = 161"):
        sizes("cifar10", tmp_path, num_clients=161)
