"""CIFAR-10 with Dirichlet label allocation, as in CA-Fed's experiments."""

from __future__ import annotations

from pathlib import Path

from f3ast_tff.federated_data import FederatedData

from . import cifar_files
from .cache import prepared
from .cifar_reader import read_cifar
from .dirichlet import check_dirichlet, dirichlet_shares, federate, shares_of_client_mixtures


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
        ParameterError: If `num_clients` or `dirichlet_s` is out of range.
        DataError: If a file is missing, damaged or not CIFAR-10's.
    """
    files = cifar_files.CIFAR10
    check_dirichlet(num_clients, dirichlet_s, files.train.num_images)

    def prepare() -> FederatedData:
        train, test = read_cifar(data_dir, files)
        check_dirichlet(num_clients, dirichlet_s, len(train.pixels))
        draw = shares_of_client_mixtures if by_client else dirichlet_shares
        shares = draw(dirichlet_s, files.num_classes, num_clients, seed)
        return federate(train, test, shares, seed)

    key = {"num_clients": num_clients, "s": float(dirichlet_s), "seed": seed, **files.key(data_dir)}
    if by_client:
        key["by"] = "client"
    return prepared(data_dir, "cifar10", key, prepare)
