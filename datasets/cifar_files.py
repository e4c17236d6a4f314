"""Reads and checks files of the "python version" of CIFAR-10 and CIFAR-100 (Krizhevsky 2009)."""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from f3ast_tff.core.errors import DataError
from f3ast_tff.files.data_files import hash_of, read_bytes
from f3ast_tff.files.progress import progress

from .cifar_pickle import load_batch
from .images import LabelledImages, notice
from .source import Download, SourceFile, locate

SIDE = 32
PIXELS = 3 * SIDE * SIDE
# The archives have some 160 MiB.
_MAX_ARCHIVE_BYTES = 2**28


@dataclass(frozen=True)
class Batch:
    """A file of images in the distribution.

    Attributes:
        name: Name of the file.
        num_images: Number of images in it.
        md5: MD5 of the distributor's file, in hexadecimal.
        optional: Whether the file may be missing among unpacked files.
    """

    name: str
    num_images: int
    md5: str
    optional: bool = False

    @property
    def most_bytes(self) -> int:
        """The largest size accepted: Python 3 writes pixels above 127 as two bytes."""
        return self.num_images * (2 * PIXELS + 128) + 2**16


@dataclass(frozen=True)
class Part:
    """The training or the test images.

    Attributes:
        batches: Files of the part.
        digest: `LabelledImages.digest` of the images accepted in another order than the
            distributor's: all images, or a known subset.
    """

    batches: tuple[Batch, ...]
    digest: str

    @property
    def num_images(self) -> int:
        """Number of images in all files."""
        return sum(batch.num_images for batch in self.batches)


@dataclass(frozen=True)
class CifarFiles:
    """A CIFAR distribution.

    Attributes:
        title: Name in messages.
        folder: Folder inside the archive.
        download: The archive.
        labels: Names of the label lists in a file and their numbers of classes; the first list
            holds the classes that a model learns.
        train: Training images.
        test: Test images.
    """

    title: str
    folder: str
    download: Download
    labels: tuple[tuple[str, int], ...]
    train: Part
    test: Part

    @property
    def archive(self) -> str:
        """Name of the archive."""
        return self.download.url.rpartition("/")[2]

    @property
    def source(self) -> SourceFile:
        """The first batch, unpacked; otherwise the archive."""
        first = f"{self.folder}/{self.train.batches[0].name}"
        return SourceFile((first, self.archive), self.download)

    @property
    def num_classes(self) -> int:
        """Number of classes that a model learns."""
        return self.labels[0][1]

    def key(self, data_dir: Path) -> dict[str, int | float | str]:
        """Returns the identity of the images, a part of the key of prepared data.

        If a batch may be missing, the identity is a hash over the files in `data_dir`; without
        such files, over the distributor's, which the archive holds. A notice, in every run, says
        which batch is missing.

        Raises:
            DataError: If a file cannot be read.
        """
        if not any(batch.optional for batch in self.train.batches):
            return {"train": self.train.digest, "test": self.test.digest}
        batches = (*self.train.batches, *self.test.batches)
        paths = {batch: data_dir / self.folder / batch.name for batch in batches}
        present = [batch for batch in batches if paths[batch].is_file()]
        hashes = [batch.md5 for batch in batches]
        try:
            if batches[0] in present:
                hashes = [hash_of(paths[b], "md5", most=b.most_bytes) for b in present]
                for batch in (b for b in self.train.batches if b.optional and b not in present):
                    total = self.train.num_images
                    some = f"{total - batch.num_images} of the {total} images of {self.title}"
                    notice(f"{paths[batch]} is not there: {some} are used")
        except (OSError, ValueError) as error:
            raise DataError(f"cannot read {self.title} in {data_dir}: {error}") from error
        return {"source": hashlib.sha256(" ".join(hashes).encode()).hexdigest()}


CIFAR100 = CifarFiles(
    title="CIFAR-100",
    folder="cifar-100-python",
    download=Download(
        "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz",
        "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7",
        161,
    ),
    labels=(("fine_labels", 100), ("coarse_labels", 20)),
    train=Part(
        (Batch("train", 50000, "16019d7e3df5f24257cddd939b257f8d"),),
        "776014bcbe2fb28f9a27795522fbb0730c0cea69aa583046f5c875ba644b6f40",
    ),
    test=Part(
        (Batch("test", 10000, "f0ef6b0ae62326f3e7ffdfab6717acfc"),),
        "1c374d85cfee838e6e1fccfb9b0cc5fc79cba530552dd67c928bf665f787466e",
    ),
)

CIFAR10 = CifarFiles(
    title="CIFAR-10",
    folder="cifar-10-batches-py",
    download=Download(
        "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
        "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
        163,
    ),
    labels=(("labels", 10),),
    train=Part(
        (
            Batch("data_batch_1", 10000, "c99cafc152244af753f735de768cd75f"),
            Batch("data_batch_2", 10000, "d4bba439e000b95fd0a9bffe97cbabec"),
            Batch("data_batch_3", 10000, "54ebc095f3ab1f0389bbae665268c751"),
            Batch("data_batch_4", 10000, "634d18415352ddfa80567beed471001a"),
            Batch("data_batch_5", 10000, "482c414d41f54cd18b22e5b47cb7c3cb", optional=True),
        ),
        # Digest of 40,000 images without the fifth batch, packed from PNG files in another order.
        "6bc63b1714b6b88b6d48a22e5ef3754bd1878efa95a05e5efed3a3d18b7cf514",
    ),
    test=Part(
        (Batch("test_batch", 10000, "40351d587109b95175f43aff81a1287e"),),
        "65a6ffe079453e514083f99356b35e02cbfd581b4951e3937fae188974b79f39",
    ),
)


def read_cifar(data_dir: Path, files: CifarFiles) -> tuple[LabelledImages, LabelledImages]:
    """Reads a CIFAR distribution, unpacked or in its archive; fetches the archive if need be.

    Files with the distributor's checksums are used as they are. Other unpacked files are used, with
    a notice, if they hold the same images and labels in another order: all of CIFAR-100, or 40,000
    known training images of CIFAR-10.

    Args:
        data_dir: The data folder, holding `<folder>/<file>` or the archive.
        files: The distribution.

    Returns:
        The training and the test images, `uint8 [n, 32, 32, 3]`, with all kinds of labels.

    Raises:
        DataError: If a file is missing, damaged or another one; names it and its place.
    """
    found = locate(data_dir, files.source)
    if found == data_dir / files.source.names[0]:
        archive, place = None, found.parent
    else:
        archive, place = _read_archive(found, files), found
    total = files.train.num_images + files.test.num_images
    with progress(f"reading {files.title}", total, "image") as bar:
        train, test = (
            _read_part(part, files, place, archive, bar.update)
            for part in (files.train, files.test)
        )
    return train, test


def _read_part(
    part: Part,
    files: CifarFiles,
    place: Path,
    archive: dict[str, bytes] | None,
    advance: Callable[[int], object],
) -> LabelledImages:
    pixels, labels, unofficial = [], [], []
    for batch in part.batches:
        path = place / batch.name
        content = _read_file(path, batch, files) if archive is None else archive.pop(batch.name)
        if content is None:
            continue
        if hashlib.md5(content, usedforsecurity=False).hexdigest() != batch.md5:
            unofficial.append(path)
        batch_pixels, batch_labels = _images(path, content, batch, files)
        pixels.append(batch_pixels)
        labels.append(batch_labels)
        advance(batch.num_images)
    images = LabelledImages.of(np.concatenate(pixels), np.concatenate(labels))
    if unofficial:
        if images.digest != part.digest:
            others = "".join(f", {path.name}" for path in unofficial[1:])
            together = f" (with those of{others[1:]})" if others else ""
            why = f"its images and labels{together} are not those of {files.title}"
            raise _damaged(unofficial[0], why, files)
        for path in unofficial:
            notice(f"{path}: not the distributor's file, but the same images and labels")
    return images


def _read_file(path: Path, batch: Batch, files: CifarFiles) -> bytes | None:
    if batch.optional and not path.exists():
        return None
    try:
        return read_bytes(path, batch.most_bytes)
    except OSError as error:
        raise DataError(
            f"cannot read {path} ({error.strerror}): put the file of {files.title} there, from "
            f"{files.download.url}"
        ) from error
    except ValueError as error:
        raise _damaged(path, str(error), files) from error


def _read_archive(path: Path, files: CifarFiles) -> dict[str, bytes]:
    """Returns the files of the distributor's archive, which is not unpacked on disk."""
    batches = (*files.train.batches, *files.test.batches)
    names = {f"{files.folder}/{batch.name}": batch.name for batch in batches}
    content: dict[str, bytes] = {}
    try:
        if hash_of(path, most=_MAX_ARCHIVE_BYTES) != files.download.sha256:
            raise ValueError(
                "its SHA-256 is not the distributor's (unpack another archive: unpacked files are "
                "checked by content)"
            )
        with tarfile.open(path) as archive:
            for member in archive:
                file = archive.extractfile(member) if member.name in names else None
                if file is not None:
                    content[names[member.name]] = file.read()
    except (OSError, ValueError) as error:
        raise _damaged(path, str(error), files) from error
    return content


def _images(
    path: Path, content: bytes, batch: Batch, files: CifarFiles
) -> tuple[np.ndarray, np.ndarray]:
    """Returns `uint8 [n, 32, 32, 3]` and `uint8 [n, kinds]`."""
    try:
        found = load_batch(content)
        data = found["data"]
        if not isinstance(data, np.ndarray):
            raise ValueError("its data are not 8-bit pixels")
        if data.shape != (batch.num_images, PIXELS):
            raise ValueError(f"its data have shape {data.shape}, not {batch.num_images, PIXELS}")
        labels = np.empty((batch.num_images, len(files.labels)), np.uint8)
        for kind, (name, classes) in enumerate(files.labels):
            values = found[name]
            if not isinstance(values, list) or len(values) != batch.num_images:
                raise ValueError(f"its {name} are not {batch.num_images} integers")
            if not all(type(value) is int for value in values):
                raise ValueError(f"its {name} are not {batch.num_images} integers")
            if min(values) < 0 or max(values) >= classes:
                raise ValueError(f"its {name} are not from 0 to {classes - 1}")
            labels[:, kind] = values
    except KeyError as error:
        raise _damaged(path, f"it has no {error.args[0]}", files) from error
    except ValueError as error:
        raise _damaged(path, str(error), files) from error
    # A row holds the red, then the green, then the blue plane.
    planes = data.reshape(-1, 3, SIDE, SIDE)
    return np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), labels


def _damaged(path: Path, why: str, files: CifarFiles) -> DataError:
    return DataError(
        f"{path} is damaged or is not a file of {files.title}: {why}. Put the right one into "
        f"{path.parent}, from {files.download.url}"
    )
