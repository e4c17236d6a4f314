"""CIFAR-10 with one class a client and uneven sizes (FedLaAvg, Sec. 5.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from f3ast_tff import datasets
from f3ast_tff.components import parameter, register
from f3ast_tff.federated_data import FederatedData
from f3ast_tff.preprocessing import Preprocessing, ScaledPixels
from f3ast_tff.tasks.task import DownloadedTaskConfig


@register(
    "task",
    "cifar10_one_class",
    "CIFAR-10, one class",
    about="images of 10 classes, one class a client",
    order=8,
)
@dataclass(frozen=True)
class CIFAR10OneClassConfig(DownloadedTaskConfig):
    """Configuration of `datasets.cifar10_one_class`."""

    model: ClassVar[str] = "fedlaavg_cnn"
    num_classes: ClassVar[int | None] = 10
    # FedLaAvg Sec. 5.1: batches of 5. The learning rate is the default of its authors' code.
    published: ClassVar[Mapping[str, Any]] = {
        "num_clients": 1000,
        "rounds": 10_000,
        "batch_size": 5,
        "client_lr": 0.01,
        "server_lr": {"sgd": 1.0, "adam": 0.01, "yogi": 0.01, "adagrad": 0.01},
        "epsilon": 0.001,
    }

    size_spread: float = parameter(
        0.2, "standard deviation of a client's number of images over its mean", minimum=0
    )

    def build(self) -> FederatedData:
        """See `TaskConfig.build`."""
        return datasets.cifar10_one_class(
            self.folder, self.num_clients, self.size_spread, self.data_seed
        )

    def preprocessing(self, seed: int) -> Preprocessing:
        """See `TaskConfig.preprocessing`."""
        return ScaledPixels(-1.0, 1.0)
