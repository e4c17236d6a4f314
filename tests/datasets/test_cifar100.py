"""CIFAR-100 from small files: the split, its settings, its cache."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from f3ast_tff.core.federated_data import ClientExamples, FederatedData
from f3ast_tff.datasets import CIFAR100
from f3ast_tff.datasets.cifar_files import CifarFiles
from f3ast_tff.datasets.images import LabelledImages


@dataclass(frozen=True)
class Tiny(CIFAR100):
    """CIFAR-100 of the small files."""

    num_test_clients: ClassVar[int] = 10


def cifar100(folder: Path, seed: int = 0) -> FederatedData:
    return Tiny(data_dir=str(folder), num_clients=40, data_seed=seed).build()


def digest(part: ClientExamples) -> str:
    """Digest of the images with their fine and coarse labels, in any order."""
    fine = part.labels.astype(np.uint8)
    return LabelledImages.of(part.features, np.stack([fine, fine // 5], axis=1)).digest


def test_every_image_is_used_once(tmp_path: Path, cifar100_files: CifarFiles) -> None:
    data = cifar100(tmp_path)
    assert data.num_classes == 20
    for part, clients, known in (
        (data.train, 40, cifar100_files.train.digest),
        (data.test, 10, cifar100_files.test.digest),
    ):
        assert part.sizes.tolist() == [10] * clients
        assert part.features.shape == (10 * clients, 32, 32, 3)
        assert (part.features.dtype, part.labels.dtype) == (np.uint8, np.int32)
        assert digest(part) == known


def test_concentrations_reach_the_split(
    tmp_path: Path, cifar100_files: CifarFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Most clients draw from one coarse class with alpha 10^-4, from all four with 10^4.

    10 draws from 4 equal classes miss at least one with probability 4 (3/4)^10 = 0.22.
    """
    for alpha, expected in ((1e-4, 1), (1e4, 4)):
        monkeypatch.setattr(Tiny, "alpha", alpha)
        train = cifar100(tmp_path).train
        distinct = [len(np.unique(train.client(k)[1] // 5)) for k in range(40)]
        assert np.median(distinct) == expected
    monkeypatch.setattr(Tiny, "alpha", 1e-4)
    for beta, low, high in ((1e-4, 1, 2), (1e4, 4, 5)):
        monkeypatch.setattr(Tiny, "beta", beta)
        train = cifar100(tmp_path).train
        assert low <= np.median([len(np.unique(train.client(k)[1])) for k in range(40)]) <= high


def test_preparing_says_what_it_does(
    tmp_path: Path, cifar100_files: CifarFiles, capsys: pytest.CaptureFixture[str]
) -> None:
    cifar100(tmp_path)
    assert capsys.readouterr().err.splitlines() == [
        "reading CIFAR-100 ...",
        "sharing out the training images of CIFAR-100 ...",
        "sharing out the test images of CIFAR-100 ...",
    ]
    cifar100(tmp_path)
    assert capsys.readouterr().err == ""
