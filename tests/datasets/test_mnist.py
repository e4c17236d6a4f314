"""MNIST from small files: the validation images, and the settings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.datasets import MNIST
from f3ast_tff.datasets.mnist_files import MnistFiles


@dataclass(frozen=True)
class Whole(MNIST):
    """MNIST without validation images."""

    validation_share: ClassVar[float] = 0.0


def mnist(folder: Path, num_clients: int, s: float, seed: int, **given: Any) -> FederatedData:
    kind = given.pop("kind", MNIST)
    given = {"num_clients": num_clients, "dirichlet_s": s, "data_seed": seed, **given}
    return kind(data_dir=str(folder), **given).build()


def test_a_fifth_of_the_training_images_is_set_aside(
    tmp_path: Path, mnist_files: MnistFiles
) -> None:
    """160 of 200 images remain, each once; another seed sets other images aside."""
    data = mnist(tmp_path, 8, 0.5, 0)
    whole = mnist(tmp_path, 8, 0.5, 0, kind=Whole)
    other = mnist(tmp_path, 8, 0.5, 1)
    used, all_of_them, others = (
        {image.tobytes() for image in found.train.features} for found in (data, whole, other)
    )
    assert (len(used), len(all_of_them)) == (160, 200)
    assert used < all_of_them and used != others
    assert data.test.sizes.sum() == whole.test.sizes.sum() == 50
    assert data.train.features.shape == (160, 28, 28, 1)
    assert (data.train.features.dtype, data.train.labels.dtype) == (np.uint8, np.int32)
    assert data.num_classes == 10


def test_groups_share_alike(tmp_path: Path, mnist_files: MnistFiles) -> None:
    """Their cache differs from that of single clients with the same s and seed."""
    single = mnist(tmp_path, 4, 0.3, 0, kind=Whole).train
    grouped = mnist(tmp_path, 4, 0.3, 0, kind=Whole, dirichlet_groups=2).train
    counts = [np.bincount(grouped.client(k)[1], minlength=10) for k in range(4)]
    assert np.abs(counts[0] - counts[1]).max() <= 1 and np.abs(counts[2] - counts[3]).max() <= 1
    assert np.abs(counts[0] - counts[2]).max() > 1
    assert single.sizes.tolist() != grouped.sizes.tolist()
