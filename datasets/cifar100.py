"""CIFAR-100 with the federated split of Reddi et al. 2020, drawn anew or that of TFF's file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.federated_data import ClientExamples, FederatedData
from f3ast_tff.core.preprocessing import ImageCrops, Preprocessing
from f3ast_tff.core.randomness import generator
from f3ast_tff.files.progress import progress
from f3ast_tff.settings import parameter, register

from . import cifar_files
from .cache import prepared
from .cifar_files import CifarFiles, Part, read_cifar
from .images import LabelledImages, content_digest, row_hashes
from .pachinko import pachinko
from .source import SourceFile
from .task import ResplitTaskConfig
from .tff_database import damaged, database_source, find_database, read_split

TFF_FILE = "cifar100.sqlite"
_IMAGE = (32, 32, 3)


@register(
    "task", "cifar100", "CIFAR-100", about="images of 100 classes, by Pachinko allocation", order=3
)
@dataclass(frozen=True)
class CIFAR100(ResplitTaskConfig):
    """CIFAR-100 over 500 clients by Pachinko allocation (F3AST, Sec. IV-a; see `pachinko`).

    Test clients and training clients are different clients. All training clients have the same
    number of images, 100 by default, as have all test clients, and every image is used once. The
    split is drawn from the same distribution as TensorFlow Federated's fixed split; see
    `cifar100_from_tff`.

    Attributes:
        num_test_clients: Test clients; divides 10,000.
        alpha: Concentration over the 20 coarse classes.
        beta: Concentration over the 5 fine classes of a coarse class.
    """

    num_test_clients: ClassVar[int] = 100
    alpha: ClassVar[float] = 0.1
    beta: ClassVar[float] = 10.0

    model: ClassVar[str] = "resnet18"
    num_classes: ClassVar[int | None] = 100
    tests_same_clients: ClassVar[bool | None] = False
    # App. C: the optimal values of Reddi et al. (2021), Table 8. Yogi and Adagrad take Adam's.
    published: ClassVar[Mapping[str, Any]] = {
        "num_clients": 500,
        "rounds": 1000,
        "batch_size": 20,
        "last_batch": "drop",
        "client_lr": {"sgd": 10**-1, "adam": 10**-1.5, "yogi": 10**-1.5, "adagrad": 10**-1.5},
        "server_lr": {"sgd": 10**0.5, "adam": 1.0, "yogi": 1.0, "adagrad": 1.0},
        "epsilon": 0.1,
    }
    tff_clients_at_once: ClassVar[int] = 1

    augmentation: str = parameter(
        "random",
        "crops of the training images: random and mirrored, or central",
        choices=("random", "none"),
    )

    @property
    def sources(self) -> tuple[SourceFile, ...]:
        if self.client_split == "tff":
            return (database_source(TFF_FILE),)
        return (cifar_files.CIFAR100.source,)

    def build(self) -> FederatedData:
        """Reads or draws the data.

        Returns:
            Features `uint8 [n, 32, 32, 3]`, labels `int32 [n]` in 0..99 (the fine classes).

        Raises:
            ParameterError: If the number of clients does not divide the 50,000 images.
        """
        if self.client_split == "tff":
            return cifar100_from_tff(self.folder)
        files, num_clients, num_test = cifar_files.CIFAR100, self.num_clients, self.num_test_clients
        counts = {"num_clients": num_clients, "num_test_clients": num_test}
        for (name, clients), part in zip(counts.items(), (files.train, files.test)):
            if part.num_images % clients:
                raise ParameterError(
                    name, clients, f"must divide {part.num_images}, the images shared"
                )

        def part_by_client(images: LabelledImages, clients: int, what: str) -> ClientExamples:
            coarse = images.labels[:, 1]
            rng = generator(self.data_seed, f"pachinko {what}")
            with progress(f"sharing out the {what} images of CIFAR-100", clients, "client") as bar:
                rows = pachinko(
                    fine=images.classes,
                    coarse=coarse,
                    num_clients=clients,
                    alpha=self.alpha,
                    beta=self.beta,
                    rng=rng,
                    advance=bar.update,
                )
            return images.by_client(rows)

        def prepare() -> FederatedData:
            train, test = read_cifar(self.folder, files)
            return FederatedData(
                part_by_client(train, num_clients, "training"),
                part_by_client(test, num_test, "test"),
                files.num_classes,
            )

        key = {
            **counts,
            "alpha": float(self.alpha),
            "beta": float(self.beta),
            "seed": self.data_seed,
            **files.key(self.folder),
        }
        return prepared(self.folder, "cifar100", key, prepare)

    def preprocessing(self, seed: int) -> Preprocessing:
        return ImageCrops(32, crop=24, augment=self.augmentation == "random", seed=seed)


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
        path = find_database(data_dir, TFF_FILE)
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
