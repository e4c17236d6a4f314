"""CIFAR-100 over 500 clients by Pachinko allocation (F3AST, App. C)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from f3ast_tff import datasets
from f3ast_tff.components import parameter, register
from f3ast_tff.federated_data import FederatedData
from f3ast_tff.preprocessing import ImageCrops, Preprocessing
from f3ast_tff.tasks.task import ResplitTaskConfig


@register(
    "task",
    "cifar100",
    "CIFAR-100",
    about="images of 100 classes, by Pachinko allocation",
    order=3,
)
@dataclass(frozen=True)
class CIFAR100Config(ResplitTaskConfig):
    """Configuration of `datasets.cifar100` and `datasets.cifar100_from_tff`."""

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
