"""Small data sets in the test's own folder, instead of the real ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from f3ast_tff.datasets.cifar_files import CifarFiles
from f3ast_tff.datasets.mnist_files import MnistFiles
from tests.datasets import tiny_files
from tests.datasets.shakespeare_works import play, tiny_shakespeare, works

WORDS = "to be or not to be that is the question whether tis nobler in the mind to suffer. "
PLAY = play(
    "A PLAY", [(role, n * WORDS) for role in ("HAMLET", "OPHELIA", "GHOST") for n in (2, 3)]
)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Downloads come from this machine, whatever proxy the environment names."""
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder without TFF's files."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def cifar100_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CifarFiles:
    files = tiny_files.tiny_cifar100(tmp_path)
    monkeypatch.setattr("f3ast_tff.datasets.cifar_files.CIFAR100", files)
    return files


@pytest.fixture
def cifar10_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CifarFiles:
    files = tiny_files.tiny_cifar10(tmp_path)
    monkeypatch.setattr("f3ast_tff.datasets.cifar_files.CIFAR10", files)
    return files


@pytest.fixture
def mnist_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MnistFiles:
    files = tiny_files.tiny_mnist(tmp_path)
    monkeypatch.setattr("f3ast_tff.datasets.mnist_files.MNIST", files)
    return files


@pytest.fixture
def all_files(
    tmp_path: Path,
    home: Path,
    cifar100_files: CifarFiles,
    cifar10_files: CifarFiles,
    mnist_files: MnistFiles,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """The test's folder with small files of each task, accepted as the distributors'."""
    monkeypatch.setattr(
        "f3ast_tff.datasets.shakespeare.DOWNLOAD", tiny_shakespeare(tmp_path, works(PLAY))
    )
    rng = np.random.default_rng(0)
    rows = [f"{rng.integers(4)},{rng.integers(3)},{x},{y}\n" for x, y in rng.normal(size=(200, 2))]
    (tmp_path / "own.csv").write_text("client,label,x,y\n" + "".join(rows))
    return tmp_path
