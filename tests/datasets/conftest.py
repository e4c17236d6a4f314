"""Small data sets in the test's own folder, instead of the real ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from f3ast_tff.datasets.cifar_files import CifarFiles
from f3ast_tff.datasets.mnist_files import MnistFiles
from tests.datasets import tiny_files


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Downloads come from this machine, whatever proxy the environment names."""
    monkeypatch.setenv("no_proxy", "*")


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
