"""CIFAR-10 with one class a client and uneven sizes, as in FedLaAvg's experiments."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from f3ast_tff.errors import ParameterError
from f3ast_tff.federated_data import FederatedData
from f3ast_tff.randomness import generator

from . import cifar_files
from .cache import prepared
from .cifar_reader import read_cifar
from .dirichlet import federate

# Sizes further than this many deviations from the mean are cut to it, as in the released code.
_FARTHEST = 2.0


def cifar10_one_class(
    data_dir: Path, num_clients: int = 1000, size_spread: float = 0.2, seed: int = 0
) -> FederatedData:
    """Returns CIFAR-10 with clients that hold images of one class each.

    The paper (FedLaAvg, Sec. 5.1): as many clients a class, their numbers of images "roughly
    follow a normal distribution"; as released: within a class, sizes are proportional to draws
    from N(5, 1) cut to 3..7, and all images of the class are used. That is a deviation of 0.2 of
    the mean. Clients are ordered by class, which its availability model relies on (classes 0..4
    in one half of a period, 5..9 in the other). The global test set is used there; here it is
    shared out in the same proportions, and accuracy over all clients' examples is the accuracy
    over that set.

    Args:
        data_dir: Folder of `cifar-10-batches-py/` or `cifar-10-python.tar.gz`, and of the
            prepared data. Without `data_batch_5`, 40,000 training images are used.
        num_clients: Number of clients N, a multiple of 10, few enough that each gets an image.
        size_spread: Deviation of the sizes before they are cut, in means; at least 0, below 0.5.
        seed: Seed of the split.

    Returns:
        Features `uint8 [n, 32, 32, 3]`, labels `int32 [n]` in 0..9; client k has class
        floor(10 k / N).

    Raises:
        ParameterError: If `num_clients` or `size_spread` is out of range.
        DataError: If a file is missing, damaged or not CIFAR-10's.
    """
    files = cifar_files.CIFAR10
    classes = files.num_classes
    if not 0 <= size_spread < 1 / _FARTHEST:
        raise ParameterError(
            "size_spread", size_spread, f"must be at least 0, below {1 / _FARTHEST}"
        )
    _check_clients(num_clients, size_spread, files.train.num_images // classes, classes)

    def prepare() -> FederatedData:
        train, test = read_cifar(data_dir, files)
        _check_clients(num_clients, size_spread, int(np.bincount(train.classes).min()), classes)
        shares = one_class_shares(classes, num_clients, size_spread, seed)
        return federate(train, test, shares, seed)

    key = {
        "num_clients": num_clients,
        "spread": float(size_spread),
        "seed": seed,
        **files.key(data_dir),
    }
    return prepared(data_dir, "cifar10_one_class", key, prepare)


def _check_clients(num_clients: int, size_spread: float, class_size: int, classes: int) -> None:
    """Refuses numbers of clients of which one might get no image."""
    cut = size_spread * _FARTHEST
    most = int(class_size * (1 - cut) / (1 + cut)) * classes
    if not 1 <= num_clients <= most or num_clients % classes:
        raise ParameterError(
            "num_clients",
            num_clients,
            f"must be a multiple of {classes}, at most {most} with {class_size} images a class",
        )


def one_class_shares(
    num_classes: int, num_clients: int, size_spread: float, seed: int
) -> np.ndarray:
    """Returns the share of each class that each client gets.

    Args:
        num_classes: Number of classes; divides `num_clients`.
        num_clients: Number of clients N.
        size_spread: Deviation of a client's share, in means.
        seed: Seed of the shares.

    Returns:
        `float64 [num_classes, N]`; rows sum to 1, columns have one positive entry.
    """
    draws = generator(seed, "one class sizes").normal(
        size=(num_classes, num_clients // num_classes)
    )
    sizes = 1 + size_spread * np.clip(draws, -_FARTHEST, _FARTHEST)
    shares = np.zeros((num_classes, num_clients))
    owner = np.repeat(np.arange(num_classes), num_clients // num_classes)
    shares[owner, np.arange(num_clients)] = (sizes / sizes.sum(axis=1, keepdims=True)).ravel()
    return shares
