"""Reads and checks files of the "python version" of CIFAR-10 and CIFAR-100 (Krizhevsky 2009)."""

from __future__ import annotations

import gzip
import hashlib
import tarfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from f3ast_tff.core.data_files import Limited, hash_of, open_regular, read_bytes
from f3ast_tff.core.errors import DataError
from f3ast_tff.core.progress import progress

from .cifar_pickle import load_batch
from .images import LabelledImages, notice
from .source import Download, SourceFile, locate

SIDE = 32
PIXELS = 3 * SIDE * SIDE
# Limit on an archive's remaining files: names of classes, a read-me.
_MAX_OTHER_BYTES = 2**24


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

    @property
    def most_bytes(self) -> int:
        """The largest size accepted for the archive, compressed or not."""
        batches = (*self.train.batches, *self.test.batches)
        return sum(batch.most_bytes for batch in batches) + _MAX_OTHER_BYTES

    def key(self, data_dir: Path) -> dict[str, int | float | str]:
        """Returns the identity of the images, a part of the key of prepared data.

        If a batch may be missing, the identity is a hash over the files in `data_dir`; without
        such files, over the distributor's.

        Raises:
            DataError: If a file cannot be read.
        """
        if not any(batch.optional for batch in self.train.batches):
            return {"train": self.train.digest, "test": self.test.digest}
        batches = (*self.train.batches, *self.test.batches)
        paths = {batch: data_dir / self.folder / batch.name for batch in batches}
        present = [batch for batch in batches if paths[batch].is_file()]
        archive = data_dir / self.archive
        try:
            if batches[0] in present:
                hashes = [hash_of(paths[b], "md5", most=b.most_bytes) for b in present]
            else:
                hashes = [batch.md5 for batch in batches]
                if archive.is_file():
                    found = hash_of(archive, most=self.most_bytes)
                    hashes = hashes if found == self.download.sha256 else [found]
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


_MAX_MEMBERS = 100
_MAX_PAX_BYTES = 4096
_PAX_TYPES = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE)


def read_cifar(data_dir: Path, files: CifarFiles) -> tuple[LabelledImages, LabelledImages]:
    """Reads a CIFAR distribution, unpacked or in its archive; fetches the archive if need be.

    Files with the distributor's checksums are used as they are. Other files are used, with a
    notice, if they hold the same images and labels in another order: all of CIFAR-100, or 40,000
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
            notice(
                f"{path} is not there: {part.num_images - batch.num_images} of the "
                f"{part.num_images} images of {files.title} are used"
            )
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


class _Member(tarfile.TarInfo):
    """A header of an archive."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Member:
        """See `tarfile.TarInfo.frombuf`.

        Raises:
            ValueError: If a larger pax header follows than sound archives have.
        """
        found = super().frombuf(buf, encoding, errors)
        # Before 3.11.10, Python's time to read them grows with the square of their digits.
        if found.type in _PAX_TYPES and found.size > _MAX_PAX_BYTES:
            raise ValueError(f"it has a pax header of more than {_MAX_PAX_BYTES} bytes")
        return found


def _read_archive(path: Path, files: CifarFiles) -> dict[str, bytes]:
    """Returns the files of the archive, which is not unpacked on disk."""
    wanted = {f"{files.folder}/{b.name}": b for b in (*files.train.batches, *files.test.batches)}
    content: dict[str, bytes] = {}
    try:
        with open_regular(path) as packed, gzip.open(packed) as unpacked:
            # A stream, so that the archive is read once and forwards.
            limited: Any = Limited(unpacked, files.most_bytes)
            with tarfile.open(fileobj=limited, mode="r|", tarinfo=_Member) as archive:
                for number, member in enumerate(archive):
                    if number >= _MAX_MEMBERS:
                        raise ValueError(f"it has more than {_MAX_MEMBERS} members")
                    batch = wanted.get(member.name)
                    if batch and member.isfile() and not member.issparse():
                        content[batch.name] = _read_member(archive, member, batch)
    except (OSError, EOFError, tarfile.TarError, zlib.error, ValueError) as error:
        raise _damaged(path, str(error), files) from error
    missing = [batch.name for batch in wanted.values() if batch.name not in content]
    if missing:
        raise _damaged(path, f"it lacks {', '.join(missing)}", files)
    return content


def _read_member(archive: tarfile.TarFile, member: tarfile.TarInfo, batch: Batch) -> bytes:
    if not 0 <= member.size <= batch.most_bytes:
        raise ValueError(f"{batch.name} in it has {member.size} bytes, not 0 to {batch.most_bytes}")
    file = archive.extractfile(member)
    found = file.read() if file else b""
    if len(found) != member.size:
        raise ValueError(f"{batch.name} in it is cut short")
    return found


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
