"""MNIST from small files: reading them, damaged files, validation images, groups."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from f3ast_tff.core.errors import DataError
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.datasets import MNIST
from f3ast_tff.datasets.mnist_files import MNIST as PUBLISHED
from f3ast_tff.datasets.mnist_files import MnistFiles, read_mnist
from tests.datasets.tiny_files import idx, images, served


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


IMAGES = "train-images-idx3-ubyte.gz"
LABELS = "train-labels-idx1-ubyte.gz"


def test_pixels_and_labels_stay_together(
    tmp_path: Path, mnist_files: MnistFiles, caplog: pytest.LogCaptureFixture
) -> None:
    train, test = read_mnist(tmp_path, mnist_files)
    for part, num, seed in ((train, 200, 0), (test, 50, 1)):
        pixels, labels = images(num, 10, seed, side=28)
        written = {image.tobytes(): label for image, label in zip(pixels[..., 0], labels.tolist())}
        assert part.pixels.shape == (num, 28, 28, 1)
        assert {x.tobytes(): y for x, y in zip(part.pixels, part.classes)} == written
    assert caplog.messages == []


def test_the_same_content_is_taken_with_a_notice(
    tmp_path: Path, mnist_files: MnistFiles, caplog: pytest.LogCaptureFixture
) -> None:
    """Images uncompressed, labels compressed otherwise, both in another order."""
    original, _ = read_mnist(tmp_path, mnist_files)
    order = np.random.default_rng(0).permutation(200)
    path = tmp_path / "mnist" / IMAGES
    shuffled = idx(images(200, 10, 0, side=28)[0][order, ..., 0])
    path.unlink()
    path.with_suffix("").write_bytes(shuffled)
    labels = idx(images(200, 10, 0, side=28)[1][order])
    (tmp_path / "mnist" / LABELS).write_bytes(gzip.compress(labels, 1, mtime=5))
    found, _ = read_mnist(tmp_path, mnist_files)
    np.testing.assert_array_equal(found.pixels, original.pixels)
    np.testing.assert_array_equal(found.labels, original.labels)
    (message,) = caplog.messages
    assert "train-images-idx3-ubyte or its labels: not the distributor's" in message


def edit(change: Callable[[bytearray], object]) -> Callable[[bytes], bytes]:
    """Returns an edit of the uncompressed content."""

    def edited(content: bytes) -> bytes:
        raw = bytearray(gzip.decompress(content))
        change(raw)
        return gzip.compress(raw)

    return edited


def flip(raw: bytearray, place: int) -> None:
    raw[place] ^= 1


def set_byte(raw: bytearray, place: int, value: int) -> None:
    raw[place] = value


EDITS: dict[str, tuple[str, Callable[[bytes], bytes], str]] = {
    "truncated": (IMAGES, lambda c: c[: len(c) // 2], "ended before"),
    "not gzip": (IMAGES, lambda c: b"not gzip", "[Nn]ot a gzipped file"),
    "empty": (IMAGES, lambda c: b"", "its header is"),
    "bit": (IMAGES, lambda c: c[:5000] + bytes([c[5000] ^ 4]) + c[5001:], "is damaged"),
    "pixel": (IMAGES, edit(lambda raw: flip(raw, 999)), "not those of MNIST"),
    "label": (LABELS, edit(lambda raw: flip(raw, 8)), "not those of MNIST"),
    "range": (LABELS, edit(lambda raw: set_byte(raw, 8, 10)), "a label is over 9"),
    "magic": (IMAGES, edit(lambda raw: set_byte(raw, 2, 9)), "header is .2307, 200, 28, 28."),
    "count": (LABELS, edit(lambda raw: set_byte(raw, 7, 201)), "header is .2049, 201."),
    "short": (IMAGES, edit(lambda raw: raw.pop()), "does not hold 156816 bytes"),
    "long": (LABELS, edit(lambda raw: raw.append(0)), "does not hold 208 bytes"),
}


@pytest.mark.parametrize(("name", "change", "message"), EDITS.values(), ids=EDITS.keys())
def test_damaged_files_are_named(
    tmp_path: Path,
    mnist_files: MnistFiles,
    name: str,
    change: Callable[[bytes], bytes],
    message: str,
) -> None:
    path = tmp_path / "mnist" / name
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(DataError, match=message) as caught:
        read_mnist(tmp_path, mnist_files)
    assert str(path) in str(caught.value) and "from https://" in str(caught.value)


def test_a_missing_file_is_named_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("f3ast_tff.datasets.mnist_files._MIRROR", "http://127.0.0.1:9/")
    with pytest.raises(DataError, match=f"{IMAGES} is missing") as caught:
        read_mnist(tmp_path, PUBLISHED)
    assert f"put it into {tmp_path / 'mnist'} (from http://127.0.0.1:9/" in str(caught.value)


def test_missing_files_are_fetched(
    tmp_path: Path, mnist_files: MnistFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(tmp_path / "mnist") as address:
        monkeypatch.setattr("f3ast_tff.datasets.mnist_files._MIRROR", f"{address}/")
        fetched, _ = read_mnist(tmp_path / "new", mnist_files)
        assert fetched.digest == mnist_files.train.digest
        assert len(list((tmp_path / "new/mnist").iterdir())) == 4
        other = replace(mnist_files, train=replace(mnist_files.train, sha256_labels="0" * 64))
        with pytest.raises(DataError, match=f"something else than {LABELS}"):
            read_mnist(tmp_path / "newer", other)
