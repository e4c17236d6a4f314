"""CIFAR-10: Dirichlet label allocation (CA-Fed), or clients of one class each (FedLaAvg)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.core.randomness import generator

from . import cifar_files
from .cache import prepared
from .cifar_reader import read_cifar
from .dirichlet import check_clients, dirichlet_shares, federate, shares_of_client_mixtures

# Sizes further than this many deviations from the mean are cut to it, as in FedLaAvg's code.
_FARTHEST = 2.0
# Deviation of sizes, in means, from which on a client could get no image.
LARGEST_SPREAD = 1 / _FARTHEST


def cifar10(
    data_dir: Path, num_clients: int, dirichlet_s: float, seed: int, by_client: bool = False
) -> FederatedData:
    """Returns CIFAR-10 with each class shared out over clients by Dirichlet(s).

    The paper (CA-Fed, Sec. V-A and App. G1; N = 100, s = 0.5): "we distribute samples from the
    same class across the clients according to a symmetric Dirichlet distribution". It does not
    say how test images are used. Here each class's test images are shared out in the proportions
    of its training images, all of them: clients are tested on labels like their own, and accuracy
    over all clients' examples is accuracy over the whole test set. A client left without a
    training image gets one of the largest client's.

    Args:
        data_dir: Folder of `cifar-10-batches-py/` or `cifar-10-python.tar.gz`, and of the
            prepared data. Without `data_batch_5`, 40,000 training images are used.
        num_clients: Number of clients N.
        dirichlet_s: Parameter s, positive; large: all clients alike, small: each class at one.
        seed: Seed of the split.
        by_client: Whether Dirichlet(s) draws the classes of each client, as opposed to the clients
            of each class: `shares_of_client_mixtures` for `dirichlet_shares`.

    Returns:
        Features `uint8 [n, 32, 32, 3]`, labels `int32 [n]` in 0..9.

    Raises:
        ParameterError: If there are more clients than images.
        DataError: If a file is missing, damaged or not CIFAR-10's.
    """
    files = cifar_files.CIFAR10
    check_clients(num_clients, files.train.num_images)

    def prepare() -> FederatedData:
        train, test = read_cifar(data_dir, files)
        check_clients(num_clients, len(train.pixels))
        draw = shares_of_client_mixtures if by_client else dirichlet_shares
        shares = draw(dirichlet_s, files.num_classes, num_clients, seed)
        return federate(train, test, shares, seed)

    key = {"num_clients": num_clients, "s": float(dirichlet_s), "seed": seed, **files.key(data_dir)}
    if by_client:
        key["by"] = "client"
    return prepared(data_dir, "cifar10", key, prepare)


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
        size_spread: Deviation of the sizes before they are cut, in means; below `LARGEST_SPREAD`.
        seed: Seed of the split.

    Returns:
        Features `uint8 [n, 32, 32, 3]`, labels `int32 [n]` in 0..9; client k has class
        floor(10 k / N).

    Raises:
        ParameterError: If a client would get no image.
        DataError: If a file is missing, damaged or not CIFAR-10's.
    """
    files = cifar_files.CIFAR10
    classes = files.num_classes
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
