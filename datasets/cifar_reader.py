"""Reads and checks the files of CIFAR-10 and CIFAR-100."""

from __future__ import annotations

import hashlib
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from f3ast_tff.errors import DataError
from f3ast_tff.progress import progress

from .cifar_files import Batch, CifarFiles, Part
from .cifar_pickle import load_batch
from .images import LabelledImages, notice
from .source import locate

_SIDE = 32
_PIXELS = 3 * _SIDE * _SIDE


def read_cifar(data_dir: Path, files: CifarFiles) -> tuple[LabelledImages, LabelledImages]:
    """Reads a CIFAR distribution, unpacked or in its archive; fetches the archive if need be.

    A file with the distributor's checksum is taken as it is. Any other is taken, with a notice,
    if its content is right: the same images and labels in any order, by their digest, or, where
    no digest is known, the right numbers, shapes and ranges.

    Args:
        data_dir: The data folder, holding `<folder>/<file>` or the archive.
        files: The distribution.

    Returns:
        The training and the test images, `uint8 [n, 32, 32, 3]`, with all kinds of labels.

    Raises:
        DataError: If a file is missing, damaged or not what it should be; names it and its place.
    """
    first = f"{files.folder}/{files.train.batches[0].name}"
    found = locate(data_dir, (first, files.archive), files.download)
    if found == data_dir / first:
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
        _check_content(images, part, files, unofficial)
    return images


def _read_file(path: Path, batch: Batch, files: CifarFiles) -> bytes | None:
    if batch.optional and not path.exists():
        return None
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(
            f"cannot read {path} ({error.strerror}): put the file of {files.title} there, from "
            f"{files.download.url}"
        ) from error


def _read_archive(path: Path, files: CifarFiles) -> dict[str, bytes]:
    """Returns the archive's files, read straight from it: nothing is unpacked on disk."""
    wanted = {f"{files.folder}/{b.name}": b for b in (*files.train.batches, *files.test.batches)}
    content: dict[str, bytes] = {}
    try:
        with tarfile.open(path, "r:*") as archive:
            for member in archive:
                batch = wanted.get(member.name)
                file = archive.extractfile(member) if batch and member.isfile() else None
                if batch and file:
                    content[batch.name] = file.read()
    except (OSError, EOFError, tarfile.TarError, zlib.error) as error:
        raise _damaged(path, str(error), files) from error
    missing = [batch.name for batch in wanted.values() if batch.name not in content]
    if missing:
        raise _damaged(path, f"it lacks {', '.join(missing)}", files)
    return content


def _images(
    path: Path, content: bytes, batch: Batch, files: CifarFiles
) -> tuple[np.ndarray, np.ndarray]:
    """Returns `uint8 [n, 32, 32, 3]` and `uint8 [n, kinds]`."""
    try:
        found = load_batch(content)
        data = found["data"]
        if not isinstance(data, np.ndarray) or data.dtype != np.uint8:
            raise ValueError("its data are not 8-bit pixels")
        if data.shape != (batch.num_images, _PIXELS):
            raise ValueError(f"its data have shape {data.shape}, not {batch.num_images, _PIXELS}")
        labels = np.empty((batch.num_images, len(files.labels)), np.uint8)
        for kind, (name, classes) in enumerate(files.labels):
            values = np.asarray(found[name])
            if values.shape != (batch.num_images,) or values.dtype.kind not in "iu":
                raise ValueError(f"its {name} are not {batch.num_images} integers")
            if values.min() < 0 or values.max() >= classes:
                raise ValueError(f"its {name} are not from 0 to {classes - 1}")
            labels[:, kind] = values
    except KeyError as error:
        raise _damaged(path, f"it has no {error.args[0]}", files) from error
    except ValueError as error:
        raise _damaged(path, str(error), files) from error
    # Rows hold the red, the green and the blue plane, one after the other.
    planes = data.reshape(-1, 3, _SIDE, _SIDE)
    return np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), labels


def _check_content(
    images: LabelledImages, part: Part, files: CifarFiles, unofficial: list[Path]
) -> None:
    first = unofficial[0]
    if part.digest is not None:
        if images.digest != part.digest:
            raise _damaged(first, f"its images and labels are not those of {files.title}", files)
        notice(f"{first}: not the distributor's file, but the same images and labels")
        return
    most = part.num_images // files.num_classes
    if np.bincount(images.classes).max() > most:
        raise _damaged(first, f"with its like it has over {most} images of one class", files)
    names = ", ".join(path.name for path in unofficial)
    notice(f"{first.parent}: {names}: not the distributor's, but of the same form")


def _damaged(path: Path, why: str, files: CifarFiles) -> DataError:
    return DataError(
        f"{path} is damaged or is not a file of {files.title}: {why}. Put the right one into "
        f"{path.parent}, from {files.download.url}"
    )
