"""TensorFlow Federated's own split of CIFAR-100, where its file is present."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from f3ast_tff.core.federated_data import ClientExamples, FederatedData

from . import cifar_files
from .cache import prepared
from .cifar_files import CifarFiles, Part
from .images import LabelledImages, content_digest, row_hashes
from .tff_database import damaged, find_database, read_split

FILE = "cifar100.sqlite"
_IMAGE = (32, 32, 3)


def cifar100_from_tff(data_dir: Path) -> FederatedData:
    """Returns the split that `tff.simulation.datasets.cifar100.load_data` gives, without TFF.

    The file is `cifar100.sqlite` or `cifar100.sqlite.lzma` in `data_dir`, or `.tff/cifar100.sqlite`
    in the home folder, where TFF puts it. Clients are in TFF's order, sorted by name as text: "0",
    "1", "10", "100", ...

    Args:
        data_dir: Folder of the prepared data, and possibly of the file.

    Returns:
        Features `uint8 [n, 32, 32, 3]`, labels `int32 [n]` in 0..99; 500 training clients, 100
        test clients.

    Raises:
        DataError: If the file is missing, damaged or not CIFAR-100's.
    """
    files = cifar_files.CIFAR100

    def prepare() -> FederatedData:
        path = find_database(data_dir, FILE)
        return FederatedData(
            _read_split(path, split="train", part=files.train, files=files),
            _read_split(path, split="test", part=files.test, files=files),
            files.num_classes,
        )

    return prepared(data_dir, "cifar100_from_tff", files.key(data_dir), prepare)


def _read_split(path: Path, split: str, part: Part, files: CifarFiles) -> ClientExamples:
    by_client = read_split(path, split, lambda features: _row(features, files))
    clients = [np.stack(rows) for rows in by_client.values()]
    rows = np.concatenate(clients)
    if len(rows) != part.num_images:
        raise damaged(path, f"{len(rows)} {split} images, not {part.num_images}")
    if len({len(client) for client in clients}) > 1:
        raise damaged(path, f"its {split} clients do not hold equally many images")
    kinds = len(files.labels)
    pixels, labels = rows[:, :-kinds].reshape(-1, *_IMAGE), rows[:, -kinds:]
    if content_digest(row_hashes(pixels, labels)) != part.digest:
        raise damaged(path, f"its {split} images and labels are not those of {files.title}")
    images = LabelledImages(pixels, labels, "")
    ends = np.cumsum([len(client) for client in clients])
    return images.by_client(np.split(np.arange(len(rows)), ends[:-1]))


def _row(features: Mapping[str, Any], files: CifarFiles) -> np.ndarray:
    """Returns an example's pixels, its fine and its coarse label, `uint8 [3072 + 2]`."""
    names = ("image", "label", "coarse_label")
    values = np.concatenate([features[name] for name in names])
    limits = np.array([classes for _, classes in files.labels])
    if len(values) != np.prod(_IMAGE) + len(limits):
        raise ValueError(f"an example has {len(values)} numbers")
    if np.any(values < 0) or np.any(values > 255) or np.any(values[-len(limits) :] >= limits):
        raise ValueError("a pixel or a label is out of range")
    return values.astype(np.uint8)
