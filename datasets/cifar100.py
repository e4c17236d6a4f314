"""CIFAR-100 with the federated split of Reddi et al. 2020, drawn anew from a seed."""

from __future__ import annotations

from pathlib import Path

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.federated_data import ClientExamples, FederatedData
from f3ast_tff.core.progress import progress
from f3ast_tff.core.randomness import generator

from . import cifar_files
from .cache import prepared
from .cifar_reader import read_cifar
from .images import LabelledImages
from .pachinko import pachinko


def cifar100(
    data_dir: Path,
    num_clients: int = 500,
    num_test_clients: int = 100,
    alpha: float = 0.1,
    beta: float = 10.0,
    seed: int = 0,
) -> FederatedData:
    """Returns CIFAR-100 by Pachinko allocation (see `pachinko`).

    Test clients are other clients than training clients; all clients of a kind have the same
    number of images, 100 by default, and every image is used once. The split is of the same
    distribution as TensorFlow Federated's, which is one fixed draw; see `cifar100_from_tff`.

    Args:
        data_dir: Folder of `cifar-100-python/` or `cifar-100-python.tar.gz`, and of the prepared
            data.
        num_clients: Training clients; must divide 50,000.
        num_test_clients: Test clients; must divide 10,000.
        alpha: Concentration over the 20 coarse classes, positive.
        beta: Concentration over the 5 fine classes of a coarse one, positive.
        seed: Seed of the split.

    Returns:
        Features `uint8 [n, 32, 32, 3]`, labels `int32 [n]` in 0..99 (the fine classes).

    Raises:
        ParameterError: If a number of clients does not divide the images.
        DataError: If a file is missing, damaged or not CIFAR-100's.
    """
    files = cifar_files.CIFAR100
    counts = {"num_clients": num_clients, "num_test_clients": num_test_clients}
    for (name, clients), part in zip(counts.items(), (files.train, files.test)):
        if part.num_images % clients:
            raise ParameterError(name, clients, f"must divide {part.num_images}, the images shared")

    def part_by_client(images: LabelledImages, clients: int, what: str) -> ClientExamples:
        coarse = images.labels[:, 1]
        rng = generator(seed, f"pachinko {what}")
        with progress(f"sharing out the {what} images of CIFAR-100", clients, "client") as bar:
            rows = pachinko(images.classes, coarse, clients, alpha, beta, rng, bar.update)
        return images.by_client(rows)

    def prepare() -> FederatedData:
        train, test = read_cifar(data_dir, files)
        return FederatedData(
            part_by_client(train, num_clients, "training"),
            part_by_client(test, num_test_clients, "test"),
            files.num_classes,
        )

    key = {
        **counts,
        "alpha": float(alpha),
        "beta": float(beta),
        "seed": seed,
        **files.key(data_dir),
    }
    return prepared(data_dir, "cifar100", key, prepare)
