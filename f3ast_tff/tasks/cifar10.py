"""CIFAR-10 by Dirichlet label allocation (CA-Fed, Sec. V-A and App. G1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from f3ast_tff import datasets
from f3ast_tff.components import parameter, register
from f3ast_tff.federated_data import FederatedData
from f3ast_tff.preprocessing import Preprocessing, ScaledPixels
from f3ast_tff.tasks.task import DirichletTaskConfig


@register(
    "task",
    "cifar10",
    "CIFAR-10",
    about="images of 10 classes, by Dirichlet label allocation",
    order=7,
)
@dataclass(frozen=True)
class CIFAR10Config(DirichletTaskConfig):
    """Configuration of `datasets.cifar10`."""

    model: ClassVar[str] = "cafed_cnn"
    num_classes: ClassVar[int | None] = 10
    # CA-Fed, as `leaf_synthetic`'s.
    published: ClassVar[Mapping[str, Any]] = {
        "num_clients": 100,
        "rounds": 200,
        "batch_size": 32,
        "client_lr": 0.03,
        "server_lr": {"sgd": 1.0, "adam": 0.01, "yogi": 0.01, "adagrad": 0.01},
        "epsilon": 0.001,
    }

    dirichlet_draws: str = parameter(
        "clients_of_class",
        "Dirichlet(s) draws the clients' shares of each class, or each client's shares of the "
        "classes (FedAU, FedAWE)",
        choices=("clients_of_class", "classes_of_client"),
    )

    def build(self) -> FederatedData:
        """See `TaskConfig.build`."""
        by_client = self.dirichlet_draws == "classes_of_client"
        given = (self.folder, self.num_clients, self.dirichlet_s, self.data_seed)
        return datasets.cifar10(*given, by_client=by_client)

    def preprocessing(self, seed: int) -> Preprocessing:
        """See `TaskConfig.preprocessing`."""
        return ScaledPixels(-1.0, 1.0)
