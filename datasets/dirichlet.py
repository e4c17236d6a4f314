"""Dirichlet draws, and label allocation with them (Wang et al. 2020; CA-Fed, Sec. V-A)."""

from __future__ import annotations

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.core.randomness import generator

from .images import LabelledImages


def log_dirichlet(
    concentration: float, shape: tuple[int, ...], rng: np.random.Generator
) -> np.ndarray:
    """Draws from symmetric Dirichlet distributions; returns unnormalised logarithms.

    As logarithms, the small shares of a small concentration do not underflow to 0, so they can
    still be compared after the larger shares are removed.

    Args:
        concentration: Parameter of the distribution, positive.
        shape: Shape of the result; a draw runs along the last axis, the remaining axes are
            independent draws.
        rng: Source of the draws.

    Returns:
        `float64` of that shape; shares are proportional to its exponential.
    """
    # Gamma(a) is Gamma(a + 1) times U^(1/a), U uniform, and -log U is exponential.
    larger = np.log(rng.standard_gamma(concentration + 1, shape))
    return larger - rng.standard_exponential(shape) / concentration


def dirichlet_shares(s: float, num_classes: int, num_clients: int, seed: int) -> np.ndarray:
    """Draws each class's shares over clients from Dirichlet(s).

    Args:
        s: Concentration, positive; large: all clients alike, small: each class at one client.
        num_classes: Number of classes.
        num_clients: Number of clients N.
        seed: Seed of the draws.

    Returns:
        `float64 [num_classes, N]`, rows sum to 1.
    """
    rng = generator(seed, "dirichlet shares")
    return _of_logs(log_dirichlet(s, (num_classes, num_clients), rng))


def _of_logs(logs: np.ndarray) -> np.ndarray:
    """Returns shares from their unnormalised logarithms; rows sum to 1."""
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def shares_of_client_mixtures(
    s: float, num_classes: int, num_clients: int, seed: int
) -> np.ndarray:
    """Draws each client's label distribution from Dirichlet(s); a class's shares follow from them.

    The share of a class that a client gets is proportional to the class's probability in the
    client's distribution, as in the public code of FedAU and FedAWE. Client sizes differ less than
    with `dirichlet_shares`; a client holds more examples if few clients hold its classes.

    Args:
        s: Concentration, positive; large: all clients alike, small: one class per client.
        num_classes: Number of classes.
        num_clients: Number of clients N.
        seed: Seed of the draws.

    Returns:
        `float64 [num_classes, N]`, rows sum to 1.
    """
    rng = generator(seed, "client mixtures")
    logs = log_dirichlet(s, (num_clients, num_classes), rng)
    largest = logs.max(axis=1, keepdims=True)
    totals = largest + np.log(np.exp(logs - largest).sum(axis=1, keepdims=True))
    # In logarithms: a small s gives classes whose probabilities underflow at every client.
    return _of_logs((logs - totals).T)


def grouped_shares(
    s: float, num_classes: int, num_clients: int, num_groups: int, seed: int
) -> np.ndarray:
    """Draws shares for groups of clients; the clients of a group are alike (CA-Fed, Fig. 5b).

    Args:
        s: Concentration of the draws for groups.
        num_classes: Number of classes.
        num_clients: Number of clients N.
        num_groups: Number of groups. A group is a block of ids; sizes of groups differ by at most
            1, as in `MarkovClusters`.
        seed: Seed of the draws.

    Returns:
        `float64 [num_classes, N]`, rows sum to 1.
    """
    group = np.arange(num_clients) * num_groups // num_clients
    of_groups = dirichlet_shares(s, num_classes, num_groups, seed)
    return of_groups[:, group] / np.bincount(group)[group]


def allocate(classes: np.ndarray, shares: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """Shares the examples of each class out over clients, each example to one client.

    Args:
        classes: Class of each example, `[n]`.
        shares: `float64 [num_classes, N]`, rows sum to 1.
        rng: Source of the order in which a class's examples go to clients.

    Returns:
        The rows of each client, ordered by class.
    """
    rows: list[list[np.ndarray]] = [[] for _ in range(shares.shape[1])]
    for label, of_clients in enumerate(shares):
        members = rng.permutation(np.flatnonzero(classes == label))
        ends = np.rint(np.cumsum(of_clients) * len(members)).astype(np.int64)
        for mine, cut in zip(rows, np.split(members, ends[:-1])):
            mine.append(cut)
    return [np.concatenate(mine) for mine in rows]


def leave_nobody_empty(rows: list[np.ndarray]) -> list[np.ndarray]:
    """Gives each client without an example the last example of the client that then has most."""
    rows = list(rows)
    sizes = np.array([len(mine) for mine in rows])
    for k in np.flatnonzero(sizes == 0):
        donor = int(np.argmax(sizes))
        rows[k], rows[donor] = rows[donor][-1:], rows[donor][:-1]
        sizes[k], sizes[donor] = 1, sizes[donor] - 1
    return rows


def federate(
    train: LabelledImages, test: LabelledImages, shares: np.ndarray, seed: int
) -> FederatedData:
    """Shares training and test images out over clients in the same proportions.

    Args:
        train: Training images.
        test: Test images.
        shares: Share of each class for each client, `float64 [num_classes, N]`, rows sum to 1.
        seed: Seed of the assignment of images to clients.

    Returns:
        Data in which a client's test labels have the proportions of its training labels. Every
        image is used once. Every client has a training image, if necessary one of a larger
        client's; a client may have no test image.
    """
    train_rows = allocate(train.classes, shares, generator(seed, "train allocation"))
    test_rows = allocate(test.classes, shares, generator(seed, "test allocation"))
    return FederatedData(
        train.by_client(leave_nobody_empty(train_rows)), test.by_client(test_rows), len(shares)
    )


def check_clients(num_clients: int, num_images: int) -> None:
    """Raises `ParameterError` if there are more clients than images."""
    if num_clients > num_images:
        raise ParameterError(
            "num_clients", num_clients, f"must be from 1 to {num_images}, the training images"
        )
