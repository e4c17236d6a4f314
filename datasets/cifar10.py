"""CIFAR-10: Dirichlet label allocation (CA-Fed), or clients of one class each (FedLaAvg)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.core.preprocessing import Preprocessing, ScaledPixels
from f3ast_tff.core.randomness import generator
from f3ast_tff.settings import parameter, register

from . import cifar_files
from .cache import prepared
from .cifar_files import read_cifar
from .dirichlet import check_clients, dirichlet_shares, federate, shares_of_client_mixtures
from .source import SourceFile
from .task import ADAPTIVE_SERVER_STEPS, DirichletTaskConfig, DownloadedTaskConfig

# Sizes are clipped at this many deviations from the mean, as in FedLaAvg's code.
_FARTHEST = 2.0
# Deviation of sizes, over their mean, from which on a client could get no image.
LARGEST_SPREAD = 1 / _FARTHEST


@register(
    "task",
    "cifar10",
    "CIFAR-10",
    about="images of 10 classes, by Dirichlet label allocation",
    order=7,
)
@dataclass(frozen=True)
class CIFAR10(DirichletTaskConfig):
    """CIFAR-10 with each class shared out over clients by Dirichlet(s).

    The paper (CA-Fed, Sec. V-A and App. G1; N = 100, s = 0.5): "we distribute samples from the
    same class across the clients according to a symmetric Dirichlet distribution". It does not
    say how test images are used. Here all test images of a class are shared out in the proportions
    of its training images. So a client's test labels are distributed like its training labels, and
    accuracy over all clients' examples is accuracy over the whole test set. A client left without
    a training image gets one of the largest client's. Without the file `data_batch_5`, 40,000
    training images are used.
    """

    model: ClassVar[str] = "cafed_cnn"
    # CA-Fed, as `leaf_synthetic`'s.
    published: ClassVar[Mapping[str, Any]] = {
        **ADAPTIVE_SERVER_STEPS,
        "num_clients": 100,
        "rounds": 200,
        "batch_size": 32,
        "client_lr": 0.03,
    }

    dirichlet_draws: str = parameter(
        "clients_of_class",
        "Dirichlet(s) draws the clients' shares of each class, or each client's shares of the "
        "classes (FedAU, FedAWE)",
        choices=("clients_of_class", "classes_of_client"),
    )

    @property
    def sources(self) -> tuple[SourceFile, ...]:
        return (cifar_files.CIFAR10.source,)

    def build(self) -> FederatedData:
        """Reads or draws the data.

        Returns:
            Features `uint8 [n, 32, 32, 3]`, labels `int32 [n]` in 0..9.
        """
        files, num_clients, seed = cifar_files.CIFAR10, self.num_clients, self.data_seed
        by_client = self.dirichlet_draws == "classes_of_client"
        check_clients(num_clients, files.train.num_images)

        def prepare() -> FederatedData:
            train, test = read_cifar(self.folder, files)
            check_clients(num_clients, len(train.pixels))
            draw = shares_of_client_mixtures if by_client else dirichlet_shares
            shares = draw(self.dirichlet_s, files.num_classes, num_clients, seed)
            return federate(train, test, shares, seed)

        key = {
            "num_clients": num_clients,
            "s": float(self.dirichlet_s),
            "seed": seed,
            **files.key(self.folder),
        }
        if by_client:
            key["by"] = "client"
        return prepared(self.folder, "cifar10", key, prepare)

    def preprocessing(self, seed: int) -> Preprocessing:
        return ScaledPixels(-1.0, 1.0)


@register(
    "task",
    "cifar10_one_class",
    "CIFAR-10, one class",
    about="images of 10 classes, one class per client",
    order=8,
)
@dataclass(frozen=True)
class CIFAR10OneClass(DownloadedTaskConfig):
    """CIFAR-10 with one class per client and uneven sizes (FedLaAvg, Sec. 5.1).

    In the paper every class has equally many clients, whose numbers of images "roughly follow a
    normal distribution". In the released code, sizes within a class are proportional to draws from
    N(5, 1) clipped to 3..7, a deviation of 0.2 of the mean, and all images of the class are used.
    Clients are ordered by class, as the paper's availability model needs (classes 0..4 in one half
    of a period, 5..9 in the second). The paper tests on the global test set. Here that set is
    shared out in the same proportions, and accuracy over all clients' examples is accuracy over it.
    """

    model: ClassVar[str] = "fedlaavg_cnn"
    num_classes: ClassVar[int | None] = 10
    tests_same_clients: ClassVar[bool | None] = True
    # FedLaAvg Sec. 5.1: batches of 5; Table 3: about 10,000 rounds at best. The learning rate is
    # the default of its authors' code.
    published: ClassVar[Mapping[str, Any]] = {
        **ADAPTIVE_SERVER_STEPS,
        "num_clients": 1000,
        "rounds": 10_000,
        "batch_size": 5,
        "client_lr": 0.01,
    }

    size_spread: float = parameter(
        0.2,
        "standard deviation of a client's number of images over its mean",
        minimum=0,
        below=LARGEST_SPREAD,
    )

    @property
    def sources(self) -> tuple[SourceFile, ...]:
        return (cifar_files.CIFAR10.source,)

    def build(self) -> FederatedData:
        """Reads or draws the data.

        Returns:
            Features `uint8 [n, 32, 32, 3]`, labels `int32 [n]` in 0..9; client k has class
            floor(10 k / N).

        Raises:
            ParameterError: If a client would get no image.
        """
        files, num_clients, seed = cifar_files.CIFAR10, self.num_clients, self.data_seed
        classes = files.num_classes
        _check_clients(num_clients, self.size_spread, files.train.num_images // classes, classes)

        def prepare() -> FederatedData:
            train, test = read_cifar(self.folder, files)
            _check_clients(
                num_clients, self.size_spread, int(np.bincount(train.classes).min()), classes
            )
            shares = one_class_shares(classes, num_clients, self.size_spread, seed)
            return federate(train, test, shares, seed)

        key = {
            "num_clients": num_clients,
            "spread": float(self.size_spread),
            "seed": seed,
            **files.key(self.folder),
        }
        return prepared(self.folder, "cifar10_one_class", key, prepare)

    def preprocessing(self, seed: int) -> Preprocessing:
        return ScaledPixels(-1.0, 1.0)


def _check_clients(num_clients: int, size_spread: float, class_size: int, classes: int) -> None:
    """Refuses a number of clients with which a client might get no image."""
    cut = size_spread * _FARTHEST
    most = int(class_size * (1 - cut) / (1 + cut)) * classes
    if num_clients > most or num_clients % classes:
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
        size_spread: Standard deviation of a client's share over its mean.
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
