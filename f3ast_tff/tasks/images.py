"""Tasks of images: MNIST, CIFAR-10 with two allocations, CIFAR-100."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from f3ast_tff import datasets
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.core.preprocessing import ImageCrops, Preprocessing, ScaledPixels
from f3ast_tff.datasets.cifar10 import LARGEST_SPREAD
from f3ast_tff.settings import parameter, register
from f3ast_tff.tasks.task import ADAPTIVE_SERVER_STEPS, DownloadedTaskConfig, ResplitTaskConfig


@dataclass(frozen=True)
class DirichletTaskConfig(DownloadedTaskConfig):
    """Base of tasks with classes shared out over clients by Dirichlet(s) (CA-Fed, Sec. V-A)."""

    num_classes: ClassVar[int | None] = 10

    dirichlet_s: float = parameter(
        0.5, "concentration of the label allocation: small for few classes a client", above=0
    )


@register(
    "task", "mnist", "MNIST", about="images of digits, by Dirichlet label allocation", order=6
)
@dataclass(frozen=True)
class MNISTConfig(DirichletTaskConfig):
    """MNIST by Dirichlet label allocation (CA-Fed, Sec. V-A and App. G1)."""

    # CA-Fed, as `leaf_synthetic`'s.
    published: ClassVar[Mapping[str, Any]] = {
        **ADAPTIVE_SERVER_STEPS,
        "num_clients": 100,
        "rounds": 100,
        "batch_size": 32,
        "client_lr": 0.03,
        "ridge": 0.01,
    }

    dirichlet_groups: int | None = parameter(
        None,
        "share each class out over this many blocks of client ids, whose members are alike",
        minimum=1,
    )

    def build(self) -> FederatedData:
        """See `TaskConfig.build`."""
        return datasets.mnist(
            self.folder,
            self.num_clients,
            self.dirichlet_s,
            self.data_seed,
            num_groups=self.dirichlet_groups,
        )

    def preprocessing(self, seed: int) -> Preprocessing:
        """See `TaskConfig.preprocessing`."""
        return ScaledPixels()


@register(
    "task",
    "cifar10",
    "CIFAR-10",
    about="images of 10 classes, by Dirichlet label allocation",
    order=7,
)
@dataclass(frozen=True)
class CIFAR10Config(DirichletTaskConfig):
    """CIFAR-10 by Dirichlet label allocation (CA-Fed, Sec. V-A and App. G1)."""

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

    def build(self) -> FederatedData:
        """See `TaskConfig.build`."""
        return datasets.cifar10(
            self.folder,
            self.num_clients,
            self.dirichlet_s,
            self.data_seed,
            by_client=self.dirichlet_draws == "classes_of_client",
        )

    def preprocessing(self, seed: int) -> Preprocessing:
        """See `TaskConfig.preprocessing`."""
        return ScaledPixels(-1.0, 1.0)


@register(
    "task",
    "cifar10_one_class",
    "CIFAR-10, one class",
    about="images of 10 classes, one class a client",
    order=8,
)
@dataclass(frozen=True)
class CIFAR10OneClassConfig(DownloadedTaskConfig):
    """CIFAR-10 with one class per client and uneven sizes (FedLaAvg, Sec. 5.1)."""

    model: ClassVar[str] = "fedlaavg_cnn"
    num_classes: ClassVar[int | None] = 10
    # FedLaAvg Sec. 5.1: batches of 5. The learning rate is the default of its authors' code.
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

    def build(self) -> FederatedData:
        """See `TaskConfig.build`."""
        return datasets.cifar10_one_class(
            self.folder, self.num_clients, self.size_spread, self.data_seed
        )

    def preprocessing(self, seed: int) -> Preprocessing:
        """See `TaskConfig.preprocessing`."""
        return ScaledPixels(-1.0, 1.0)


@register(
    "task",
    "cifar100",
    "CIFAR-100",
    about="images of 100 classes, by Pachinko allocation",
    order=3,
)
@dataclass(frozen=True)
class CIFAR100Config(ResplitTaskConfig):
    """CIFAR-100 over 500 clients by Pachinko allocation (F3AST, App. C)."""

    model: ClassVar[str] = "resnet18"
    num_classes: ClassVar[int | None] = 100
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

    def build(self) -> FederatedData:
        """See `TaskConfig.build`."""
        if self.client_split == "tff":
            return datasets.cifar100_from_tff(self.folder)
        return datasets.cifar100(self.folder, self.num_clients, seed=self.data_seed)

    def preprocessing(self, seed: int) -> Preprocessing:
        """See `TaskConfig.preprocessing`."""
        return ImageCrops(32, 24, self.augmentation == "random", seed)
