"""The four files of MNIST (LeCun et al. 1998) in the idx format, read and checked."""

from __future__ import annotations

import gzip
import hashlib
import io
import math
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from f3ast_tff.core.errors import DataError
from f3ast_tff.files.data_files import read_bytes
from f3ast_tff.files.progress import progress

from .images import LabelledImages, notice
from .source import Download, SourceFile, locate

NUM_CLASSES, SIDE = 10, 28
_FOLDER = "mnist"
# Size of a compressed image, MiB.
_IMAGE_MIB = 9.45 / 60_000
_MIRROR = "https://ossci-datasets.s3.amazonaws.com/mnist/"
_UNSIGNED_BYTE = 8
# Limit on bytes besides the values: headers, and gzip's overhead on incompressible data.
_MAX_OTHER_BYTES = 2**20


@dataclass(frozen=True)
class IdxPair:
    """The images and the labels of a part, for training or testing.

    Attributes:
        prefix: Start of the names of the part's files.
        num_images: Number of images.
        sha256_images: SHA-256 of the distributor's compressed file of images.
        sha256_labels: SHA-256 of the distributor's compressed file of labels.
        digest: `LabelledImages.digest` of the images.
    """

    prefix: str
    num_images: int
    sha256_images: str
    sha256_labels: str
    digest: str

    @property
    def sources(self) -> tuple[SourceFile, SourceFile]:
        """The file of images and the file of labels."""
        mib = round(self.num_images * _IMAGE_MIB, 1)
        return (
            _source(f"{self.prefix}-images-idx3-ubyte.gz", self.sha256_images, mib),
            _source(f"{self.prefix}-labels-idx1-ubyte.gz", self.sha256_labels),
        )


@dataclass(frozen=True)
class MnistFiles:
    """The MNIST distribution.

    Attributes:
        train: Training images.
        test: Test images.
    """

    train: IdxPair
    test: IdxPair

    @property
    def sources(self) -> tuple[SourceFile, ...]:
        """The four files of MNIST."""
        return (*self.train.sources, *self.test.sources)


MNIST = MnistFiles(
    IdxPair(
        prefix="train",
        num_images=60000,
        sha256_images="440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        sha256_labels="3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        digest="54e1ab866c9484947dd4821c52bb7a43938f555d6b046be6af55247f8e6ffc64",
    ),
    IdxPair(
        prefix="t10k",
        num_images=10000,
        sha256_images="8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        sha256_labels="f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        digest="97b756d55950f1841ebd48df7379b9b2fc87a10d63e08d6213dad41d564e8508",
    ),
)


def read_mnist(data_dir: Path, files: MnistFiles) -> tuple[LabelledImages, LabelledImages]:
    """Reads MNIST; fetches the files that are missing.

    Files with the distributor's checksums are used as they are. Other files (uncompressed,
    compressed anew, in another order) are used, with a notice, if they hold the same images and
    labels.

    Args:
        data_dir: The data folder, holding the four files such as
            `mnist/train-images-idx3-ubyte.gz`, or the same files uncompressed, without `.gz`.
        files: The distribution.

    Returns:
        The training and the test images, `uint8 [n, 28, 28, 1]`.

    Raises:
        DataError: If a file is missing, damaged or another one; names it and its place.
    """
    total = files.train.num_images + files.test.num_images
    with progress("reading MNIST", total, "image") as bar:
        parts = []
        for pair in (files.train, files.test):
            parts.append(_read_pair(data_dir, pair))
            bar.update(pair.num_images)
    return parts[0], parts[1]


def _read_pair(data_dir: Path, pair: IdxPair) -> LabelledImages:
    of_images, of_labels = pair.sources
    path, pixels, official = _read(data_dir, of_images, (pair.num_images, SIDE, SIDE))
    labels_path, labels, official_labels = _read(data_dir, of_labels, (pair.num_images,))
    if labels.max() >= NUM_CLASSES:
        raise _damaged(labels_path, f"a label is over {NUM_CLASSES - 1}")
    images = LabelledImages.of(pixels[..., None], labels[:, None])
    if not (official and official_labels):
        if images.digest != pair.digest:
            raise _damaged(
                labels_path if official else path, "its images and labels are not those of MNIST"
            )
        notice(f"{path} or its labels: not the distributor's, but the same images and labels")
    return images


def _source(name: str, sha256: str, mib: float | None = None) -> SourceFile:
    compressed = f"{_FOLDER}/{name}"
    names = (compressed[: -len(".gz")], compressed)
    return SourceFile(names, Download(_MIRROR + name, sha256, mib))


def _read(
    data_dir: Path, source: SourceFile, shape: tuple[int, ...]
) -> tuple[Path, np.ndarray, bool]:
    """Returns the path, the array and whether the file is the distributor's."""
    path = locate(data_dir, source)
    size = math.prod(shape) + 4 + 4 * len(shape)
    try:
        content = read_bytes(path, size + _MAX_OTHER_BYTES)
        official = hashlib.sha256(content).hexdigest() == source.download.sha256
        if path.suffix == ".gz":
            with gzip.open(io.BytesIO(content)) as file:
                content = file.read(size + 1)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise _damaged(path, str(error)) from error
    header = np.array([_UNSIGNED_BYTE << 8 | len(shape), *shape], ">u4").tobytes()
    if not content.startswith(header):
        found = np.frombuffer(content[: len(header)].ljust(len(header), b"\0"), ">u4")
        raise _damaged(path, f"its header is {found.tolist()}")
    if len(content) != size:
        raise _damaged(path, f"it does not hold {size} bytes")
    return path, np.frombuffer(content, np.uint8, offset=len(header)).reshape(shape), official


def _damaged(path: Path, why: str) -> DataError:
    name = path.name if path.suffix == ".gz" else f"{path.name}.gz"
    return DataError(
        f"{path} is damaged or is not a file of MNIST: {why}. Put the right one into "
        f"{path.parent}, from {_MIRROR}{name}"
    )
