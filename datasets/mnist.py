"""MNIST with Dirichlet label allocation, as in CA-Fed's experiments."""

from __future__ import annotations

from pathlib import Path

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.core.randomness import generator

from . import mnist_files
from .cache import prepared
from .dirichlet import check_clients, dirichlet_shares, federate, grouped_shares
from .mnist_files import read_mnist


def mnist(
    data_dir: Path,
    num_clients: int,
    dirichlet_s: float,
    seed: int,
    validation_share: float = 0.2,
    num_groups: int | None = None,
) -> FederatedData:
    """Returns MNIST with each class shared out over clients by Dirichlet(s).

    The paper (CA-Fed, Sec. V-A and App. G1; N = 100, s = 0.5): as in `cifar10`, which says what is
    done with the test images; and "we use the original training/test data split of MNIST and
    reserve 20% of the training dataset as the validation dataset". The reserved images are drawn
    at random and are in no client's data; what remains is shared out.

    Args:
        data_dir: Folder of `mnist/`, and of the prepared data.
        num_clients: Number of clients N.
        dirichlet_s: Parameter s, positive; large: all clients alike, small: each class at one.
        seed: Seed of the split.
        validation_share: Share of the training images that is set aside, at least 0, below 1.
        num_groups: Share each class out over so many groups of clients, whose members are alike;
            by default over single clients.

    Returns:
        Features `uint8 [n, 28, 28, 1]`, labels `int32 [n]` in 0..9.

    Raises:
        ParameterError: If a setting is out of range.
        DataError: If a file is missing, damaged or not MNIST's.
    """
    files = mnist_files.MNIST
    kept = round((1 - validation_share) * files.train.num_images)
    check_clients(num_clients, kept)
    if num_groups is not None and num_groups > num_clients:
        allowed = f"must be at most num_clients, {num_clients}"
        raise ParameterError("dirichlet_groups", num_groups, allowed)

    def prepare() -> FederatedData:
        train, test = read_mnist(data_dir, files)
        chosen = generator(seed, "validation images").permutation(len(train.pixels))[:kept]
        of = (dirichlet_s, files.num_classes, num_clients)
        if num_groups is None:
            shares = dirichlet_shares(*of, seed)
        else:
            shares = grouped_shares(*of, num_groups, seed)
        return federate(train.subset(chosen), test, shares, seed)

    key: dict[str, int | float | str] = {
        "num_clients": num_clients,
        "s": float(dirichlet_s),
        "seed": seed,
        "kept": kept,
        "train": files.train.digest,
        "test": files.test.digest,
    }
    if num_groups is not None:
        key["groups"] = num_groups
    return prepared(data_dir, "mnist", key, prepare)
