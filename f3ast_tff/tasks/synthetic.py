"""Synthetic(alpha, beta) (F3AST, App. C; FedProx's generator, reading R6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from f3ast_tff import datasets
from f3ast_tff.components import Published, parameter, register
from f3ast_tff.errors import ParameterError
from f3ast_tff.federated_data import FederatedData
from f3ast_tff.tasks.task import TaskConfig

# App. C: batches of 20, client learning rate 0.01 on Synthetic. The paper gives no number of
# rounds for Synthetic (1000 is 1 / beta), no server learning rate, and no FedAdam constants: the
# server steps by the aggregate itself, and Adam's constants were chosen here (docs/readings.md).
PUBLISHED: Mapping[str, Any] = MappingProxyType(
    {
        "num_clients": 100,
        "rounds": 1000,
        "batch_size": 20,
        "client_lr": 0.01,
        "server_lr": {"sgd": 1.0, "adam": 0.03, "yogi": 0.03, "adagrad": 0.03},
        "epsilon": 0.001,
    }
)


@dataclass(frozen=True)
class AlphaBetaTaskConfig(TaskConfig):
    """Base of the tasks that Synthetic(alpha, beta) generates."""

    synthetic_alpha: float = parameter(
        Published(1.0),
        "spread of clients' model means (moves no label, see docs/results.md)",
        minimum=0,
    )
    synthetic_beta: float = parameter(
        Published(1.0), "how much clients' features differ", minimum=0
    )


@register(
    "task",
    "synthetic",
    "Synthetic",
    about="Synthetic(alpha, beta) by FedProx's generator",
    order=1,
)
@dataclass(frozen=True)
class SyntheticConfig(AlphaBetaTaskConfig):
    """Configuration of `datasets.synthetic`."""

    published: ClassVar[Mapping[str, Any]] = PUBLISHED
    generates_data: ClassVar[bool] = True
    num_classes: ClassVar[int | None] = 10

    data_generator: str = parameter(
        "generator",
        "NumPy's Generator, or the draws of FedProx's code after numpy.random.seed(data_seed)",
        choices=("generator", "legacy"),
    )
    size_limit: int | None = parameter(
        None, "most examples of a client; by default the lognormal law alone decides", minimum=2
    )

    def build(self) -> FederatedData:
        """See `TaskConfig.build`."""
        return datasets.synthetic(
            *(self.num_clients, self.synthetic_alpha, self.synthetic_beta, self.data_seed),
            legacy=self.data_generator == "legacy",
            size_limit=self.size_limit,
        )

    def check(self, settings: Mapping[str, Any]) -> None:
        """See `TaskConfig.check`."""
        if self.data_generator == "legacy" and self.data_seed >= 2**32:
            allowed = f"must be at most {2**32 - 1} with data_generator=legacy"
            raise ParameterError("data_seed", self.data_seed, allowed)
