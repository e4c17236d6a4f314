"""TFF's CIFAR-100 file, from a small file of the same form."""

from __future__ import annotations

import lzma
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from f3ast_tff.core.errors import DataError
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.datasets.cifar100_from_tff import cifar100_from_tff
from f3ast_tff.datasets.cifar_files import CifarFiles
from tests.datasets.tff_files import image_example, other_message, statement
from tests.datasets.tiny_files import images, tiny_tff_cifar100


@pytest.fixture
def files(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> CifarFiles:
    """Writes the small file into `tmp_path / "given"`."""
    found = tiny_tff_cifar100(tmp_path / "given/cifar100.sqlite")
    monkeypatch.setattr("f3ast_tff.datasets.cifar_files.CIFAR100", found)
    return found


def check(data: FederatedData) -> None:
    """Clients are in text order: 0, 1, 10, 2, ...; client k has the written images k and k + 11."""
    pixels, labels = images(22, 20, seed=11)
    assert data.train.sizes.tolist() == [2] * 11 and data.test.sizes.tolist() == [1] * 2
    for place, k in enumerate([0, 1, 10, 2, 3, 4, 5, 6, 7, 8, 9]):
        features, fine = data.train.client(place)
        np.testing.assert_array_equal(features, pixels[[k, k + 11]])
        assert fine.tolist() == labels[[k, k + 11]].tolist()
    assert (data.train.features.dtype, data.train.labels.dtype) == (np.uint8, np.int32)
    assert data.num_classes == 20


def test_the_clients_of_the_file(
    tmp_path: Path, files: CifarFiles, caplog: pytest.LogCaptureFixture
) -> None:
    check(cifar100_from_tff(tmp_path / "given"))
    assert caplog.messages == []


def test_the_compressed_file(tmp_path: Path, files: CifarFiles) -> None:
    folder = tmp_path / "given"
    (folder / "cifar100.sqlite.lzma").write_bytes(
        lzma.compress((folder / "cifar100.sqlite").read_bytes(), lzma.FORMAT_ALONE)
    )
    (folder / "cifar100.sqlite").unlink()
    check(cifar100_from_tff(folder))
    names = {"cifar100.sqlite", "cifar100.sqlite.lzma", "prepared"}
    assert {path.name for path in folder.iterdir()} == names


def test_the_file_where_tff_puts_it(tmp_path: Path, home: Path, files: CifarFiles) -> None:
    (home / ".tff").mkdir(parents=True)
    (tmp_path / "given/cifar100.sqlite").rename(home / ".tff/cifar100.sqlite")
    check(cifar100_from_tff(tmp_path / "other"))


def test_a_missing_file_is_named_with_its_place(tmp_path: Path, home: Path) -> None:
    with pytest.raises(DataError, match="cifar100.sqlite.lzma is missing") as caught:
        cifar100_from_tff(tmp_path)
    message = str(caught.value)
    assert f"put it into {tmp_path} (from https://storage.googleapis.com/tff" in message
    assert f"cifar100.sqlite into {tmp_path}" in message
    assert f"cifar100.sqlite into {home / '.tff'}" in message


IMAGE = np.zeros((32, 32, 3), np.int64)
EDITS: dict[str, tuple[Callable[[Path], object], str]] = {
    "truncated": (lambda path: os.truncate(path, 6000), "damaged"),
    "not a database": (
        lambda path: path.write_bytes(b"nothing of the kind" * 99),
        "not a database",
    ),
    "another database": (statement("DROP TABLE examples"), "no such table"),
    "fewer images": (statement("DELETE FROM examples WHERE rowid = 3"), "21 train images, not 22"),
    "another client": (
        statement("UPDATE examples SET client_id = '2' WHERE rowid = 1"),
        "do not hold equally many",
    ),
    "no images": (statement("DELETE FROM examples"), "it has no train examples"),
    "text": (statement("UPDATE examples SET serialized_example_proto = 'text'"), "damaged"),
    "small image": (other_message(image_example(IMAGE[1:], 1, 1)), "an example has 2978 numbers"),
    "pixel": (other_message(image_example(IMAGE + 256, 1, 1)), "out of range"),
    "label": (other_message(image_example(IMAGE, 20, 1)), "out of range"),
    "coarse label": (other_message(image_example(IMAGE, 1, 4)), "out of range"),
    "empty": (other_message(b""), "an example has no image"),
    "cut": (other_message(image_example(IMAGE, 1, 1)[:-9]), "damaged tf.train.Example"),
}


@pytest.mark.parametrize(("edit", "message"), EDITS.values(), ids=EDITS.keys())
def test_damaged_files_are_named(
    tmp_path: Path, files: CifarFiles, edit: Callable[[Path], object], message: str
) -> None:
    path = tmp_path / "given/cifar100.sqlite"
    edit(path)
    with pytest.raises(DataError, match=message) as caught:
        cifar100_from_tff(tmp_path / "given")
    assert str(path) in str(caught.value)


def test_other_images_are_refused(
    tmp_path: Path, files: CifarFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = replace(files, test=replace(files.test, digest="0" * 64))
    monkeypatch.setattr("f3ast_tff.datasets.cifar_files.CIFAR100", other)
    with pytest.raises(DataError, match="its test images and labels are not those of CIFAR-100"):
        cifar100_from_tff(tmp_path / "given")
