"""MNIST by Dirichlet label allocation (CA-Fed, Sec. V-A and App. G1)."""

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
    "task", "mnist", "MNIST", about="images of digits, by Dirichlet label allocation", order=6
)
@dataclass(frozen=True)
class MNISTConfig(DirichletTaskConfig):
    """Configuration of `datasets.mnist`."""

    # CA-Fed, as `leaf_synthetic`'s.
    num_classes: ClassVar[int | None] = 10
    published: ClassVar[Mapping[str, Any]] = {
        "num_clients": 100,
        "rounds": 100,
        "batch_size": 32,
        "client_lr": 0.03,
        "server_lr": {"sgd": 1.0, "adam": 0.01, "yogi": 0.01, "adagrad": 0.01},
        "epsilon": 0.001,
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
