"""Reading CIFAR: the distributor's files, others with the same content, damaged ones."""

from __future__ import annotations

import gzip
import os
import pickle
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.core.errors import DataError
from f3ast_tff.datasets.cifar_files import CIFAR10, CIFAR100, CifarFiles, read_cifar
from f3ast_tff.datasets.cifar_pickle import load_batch
from tests.datasets.tiny_files import images, pack, served


def change(path: Path, edit: Callable[[dict[str, Any]], Any]) -> None:
    """Writes a batch anew, as Python 3 pickles, with a change."""
    batch = load_batch(path.read_bytes())
    edit(batch)
    path.write_bytes(pickle.dumps(batch, protocol=2))


def shuffle(batch: dict[str, Any]) -> None:
    order = np.random.default_rng(1).permutation(len(batch["data"]))
    for name, values in batch.items():
        batch[name] = np.asarray(values)[order] if name == "data" else [values[i] for i in order]


def test_pixels_and_labels_stay_together(
    tmp_path: Path, cifar100_files: CifarFiles, caplog: pytest.LogCaptureFixture
) -> None:
    """Each image keeps its label, in whatever order."""
    train, test = read_cifar(tmp_path, cifar100_files)
    for part, num, seed in ((train, 400, 0), (test, 100, 1)):
        pixels, labels = images(num, 20, seed)
        written = {image.tobytes(): label for image, label in zip(pixels, labels.tolist())}
        assert part.pixels.shape == (num, 32, 32, 3)
        found = {image.tobytes(): fine for image, fine in zip(part.pixels, part.classes)}
        assert found == written
        np.testing.assert_array_equal(part.labels[:, 1], part.labels[:, 0] // 5)
    assert caplog.messages == []


def test_another_order_is_the_same_images_with_a_notice(
    tmp_path: Path, cifar100_files: CifarFiles, caplog: pytest.LogCaptureFixture
) -> None:
    original, _ = read_cifar(tmp_path, cifar100_files)
    path = tmp_path / "cifar-100-python" / "train"
    change(path, shuffle)
    shuffled, _ = read_cifar(tmp_path, cifar100_files)
    np.testing.assert_array_equal(shuffled.pixels, original.pixels)
    np.testing.assert_array_equal(shuffled.labels, original.labels)
    (message,) = caplog.messages
    assert message == f"{path}: not the distributor's file, but the same images and labels"


def test_the_archive_is_read_without_unpacking(
    tmp_path: Path, cifar100_files: CifarFiles, caplog: pytest.LogCaptureFixture
) -> None:
    expected = read_cifar(tmp_path, cifar100_files)
    packed = pack(tmp_path, cifar100_files)
    with served(tmp_path) as address:
        url = f"{address}/{packed.archive}"
        packed = replace(packed, download=replace(packed.download, url=url))
        for folder in (tmp_path, tmp_path / "elsewhere"):  # The second folder fetches it.
            for found, part in zip(read_cifar(folder, packed), expected):
                np.testing.assert_array_equal(found.pixels, part.pixels)
                np.testing.assert_array_equal(found.labels, part.labels)
            assert [path.name for path in folder.iterdir() if path.is_file()] == [packed.archive]
            assert not (folder / packed.folder).exists()
    assert caplog.messages == []


@pytest.mark.parametrize("where", ["tail", "middle", "all"])
def test_a_damaged_archive_is_named(tmp_path: Path, cifar100_files: CifarFiles, where: str) -> None:
    packed = pack(tmp_path, cifar100_files)
    path = tmp_path / packed.archive
    content = bytearray(path.read_bytes())
    if where == "tail":
        del content[len(content) // 2 :]
    elif where == "middle":
        content[len(content) // 2] ^= 255
    else:
        content = bytearray(b"not an archive")
    path.write_bytes(content)
    with pytest.raises(DataError, match="damaged") as caught:
        read_cifar(tmp_path, packed)
    assert str(path) in str(caught.value) and packed.download.url in str(caught.value)


def test_another_archive_is_refused_unread(tmp_path: Path, cifar100_files: CifarFiles) -> None:
    """Neither members that point outside the folder nor sizes that it declares matter."""
    packed = pack(tmp_path, cifar100_files)
    path = tmp_path / packed.archive
    info = tarfile.TarInfo("../escaped")
    info.size = 6 * 2**30
    path.write_bytes(gzip.compress(info.tobuf() + bytes(2**20)))
    with pytest.raises(DataError, match=f"{path} is damaged .* its SHA-256 is not the distributor"):
        read_cifar(tmp_path, packed)
    assert list(tmp_path.iterdir()) == [path]
    os.truncate(path, 6 * 2**30)
    with pytest.raises(DataError, match="it has 6442450944 bytes, more than"):
        read_cifar(tmp_path, packed)


def flip_a_pixel(batch: dict[str, Any]) -> None:
    batch["data"] = batch["data"].copy()
    batch["data"][3, 5] ^= 1


EDITS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "pixel": (flip_a_pixel, "not those of CIFAR-100"),
    "label": (lambda b: b["fine_labels"].reverse(), "not those of CIFAR-100"),
    "range": (lambda b: b["fine_labels"].__setitem__(0, 20), "not from 0 to 19"),
    "negative": (lambda b: b["coarse_labels"].__setitem__(0, -1), "not from 0 to 3"),
    "fewer labels": (lambda b: b["fine_labels"].pop(), "fine_labels are not 400 integers"),
    "text": (lambda b: b["fine_labels"].__setitem__(0, "a"), "fine_labels are not 400 integers"),
    "fewer rows": (lambda b: b.update(data=b["data"][1:]), r"shape \(399, 3072\)"),
    "dtype": (lambda b: b.update(data=b["data"].astype(np.int8)), "not 8-bit pixels"),
    "list": (lambda b: b.update(data=[1, 2]), "not 8-bit pixels"),
    "no data": (lambda b: b.pop("data"), "it has no data"),
    "no labels": (lambda b: b.pop("coarse_labels"), "it has no coarse_labels"),
}


@pytest.mark.parametrize(("edit", "message"), EDITS.values(), ids=EDITS.keys())
def test_wrong_content_is_named(
    tmp_path: Path, cifar100_files: CifarFiles, edit: Callable[[dict[str, Any]], Any], message: str
) -> None:
    path = tmp_path / "cifar-100-python" / "train"
    change(path, edit)
    with pytest.raises(DataError, match=message) as caught:
        read_cifar(tmp_path, cifar100_files)
    assert str(path) in str(caught.value) and cifar100_files.download.url in str(caught.value)


def become_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda path: os.truncate(path, 100_000), "cannot be unpickled"),
        (Path.unlink, "No such file"),
        # These are refused unread.
        (become_a_pipe, "not a regular file"),
        (lambda path: os.truncate(path, 6 * 2**30), "it has 6442450944 bytes, more than"),
    ],
    ids=["truncated", "missing", "pipe", "large"],
)
def test_spoiled_files_are_named(
    tmp_path: Path, cifar100_files: CifarFiles, spoil: Callable[[Path], object], says: str
) -> None:
    path = tmp_path / "cifar-100-python" / "test"
    spoil(path)
    with pytest.raises(DataError, match=says) as caught:
        read_cifar(tmp_path, cifar100_files)
    assert str(path) in str(caught.value)


def test_with_nothing_there_the_message_names_all_of_it(tmp_path: Path) -> None:
    nowhere = replace(CIFAR100.download, url="http://127.0.0.1:9/cifar-100-python.tar.gz")
    with pytest.raises(DataError) as caught:
        read_cifar(tmp_path, replace(CIFAR100, download=nowhere))
    message = str(caught.value)
    assert f"cifar-100-python.tar.gz is missing: put it into {tmp_path}" in message
    assert f"train into {tmp_path / 'cifar-100-python'}" in message


def test_without_the_fifth_batch_of_cifar10(
    tmp_path: Path, cifar10_files: CifarFiles, caplog: pytest.LogCaptureFixture
) -> None:
    whole = cifar10_files.key(tmp_path)
    (tmp_path / "cifar-10-batches-py/data_batch_5").unlink()
    train, test = read_cifar(tmp_path, cifar10_files)
    assert (len(train.pixels), len(test.pixels)) == (160, 50)
    assert not caplog.messages
    for times in (1, 2):  # In every run, also where the data are prepared.
        assert cifar10_files.key(tmp_path) != whole
        assert len(caplog.messages) == times
        said = "data_batch_5 is not there: 160 of the 200 images of CIFAR-10 are used"
        assert said in caplog.messages[-1]
    (tmp_path / "cifar-10-batches-py/data_batch_3").unlink()
    with pytest.raises(DataError, match="data_batch_3"):
        read_cifar(tmp_path, cifar10_files)


def test_a_known_subset_of_cifar10_is_taken_with_a_notice(
    tmp_path: Path, cifar10_files: CifarFiles, caplog: pytest.LogCaptureFixture
) -> None:
    """The subset is the images of the first four batches, in any order."""
    folder = tmp_path / "cifar-10-batches-py"
    (folder / "data_batch_5").unlink()
    original, _ = read_cifar(tmp_path, cifar10_files)
    change(folder / "data_batch_1", shuffle)
    caplog.clear()
    found, _ = read_cifar(tmp_path, cifar10_files)
    np.testing.assert_array_equal(found.pixels, original.pixels)
    assert caplog.messages[-1] == (
        f"{folder / 'data_batch_1'}: not the distributor's file, but the same images and labels"
    )
    change(folder / "data_batch_4", flip_a_pixel)
    with pytest.raises(DataError, match=r"data_batch_1 .*\(with those of data_batch_4\) are not"):
        read_cifar(tmp_path, cifar10_files)


@pytest.mark.parametrize("batch", ["data_batch_4", "test_batch"])
def test_other_images_of_cifar10_are_refused(
    tmp_path: Path, cifar10_files: CifarFiles, batch: str
) -> None:
    change(tmp_path / "cifar-10-batches-py" / batch, flip_a_pixel)
    with pytest.raises(DataError, match=f"{batch} .* not those of CIFAR-10"):
        read_cifar(tmp_path, cifar10_files)


def test_the_real_descriptions() -> None:
    """Sizes as on the distributor's page: 100 classes of 500 and 100, 10 of 5000 and 1000."""
    for files, classes, train in ((CIFAR100, 100, 1), (CIFAR10, 10, 5)):
        assert files.num_classes == classes
        assert (files.train.num_images, files.test.num_images) == (50000, 10000)
        assert len(files.train.batches) == train
        assert files.archive == files.download.url.split("/")[-1]
