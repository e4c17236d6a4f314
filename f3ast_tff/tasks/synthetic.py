"""Synthetic data of F3AST's App. C (reading R6), and LEAF's as CA-Fed uses it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from f3ast_tff import datasets
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.datasets.synthetic import CLIENT_SIZES, FEATURE_SPREADS
from f3ast_tff.settings import Published, Reading, parameter, register
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
    """Synthetic(alpha, beta) by FedProx's generator (F3AST, App. C)."""

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
            self.num_clients,
            self.synthetic_alpha,
            self.synthetic_beta,
            self.data_seed,
            legacy=self.data_generator == "legacy",
            size_limit=self.size_limit,
        )

    def check(self, settings: Mapping[str, Any]) -> None:
        """See `TaskConfig.check`."""
        if self.data_generator == "legacy" and self.data_seed >= 2**32:
            allowed = f"must be at most {2**32 - 1} with data_generator=legacy"
            raise ParameterError("data_seed", self.data_seed, allowed)


@register(
    "task",
    "synthetic_linear",
    "Synthetic, linear",
    about="rounded linear values, as the text of App. C describes them",
    order=2,
)
@dataclass(frozen=True)
class SyntheticLinearConfig(TaskConfig):
    """The data that the text of App. C describes; trained as Synthetic."""

    published: ClassVar[Mapping[str, Any]] = PUBLISHED
    generates_data: ClassVar[bool] = True

    def build(self) -> FederatedData:
        """See `TaskConfig.build`."""
        return datasets.synthetic_linear(self.num_clients, self.data_seed)


@register(
    "task",
    "leaf_synthetic",
    "LEAF synthetic",
    about="Synthetic(alpha, beta) of CA-Fed's text, or of its public generator",
    order=5,
)
@dataclass(frozen=True)
class LeafSyntheticConfig(AlphaBetaTaskConfig):
    """LEAF's synthetic data as CA-Fed uses it (Rodio et al., Sec. V-A and App. G1)."""

    # CA-Fed Sec. V-A, App. G1: batches of 32, gamma = delta = varsigma = 0.5, ridge 0.01. Learning
    # rates are those of its "Unbiased", but on LEAF synthetic: the published 2.0 and 2.0 learn
    # nothing at the default of one epoch a round, so these were chosen here. Adam's constants are
    # not published.
    published: ClassVar[Mapping[str, Any]] = {
        "num_clients": 100,
        "rounds": 200,
        "batch_size": 32,
        "client_lr": 0.01,
        "server_lr": {"sgd": 1.0, "adam": 0.03, "yogi": 0.03, "adagrad": 0.03},
        "epsilon": 0.001,
        "ridge": 0.01,
        "synthetic_alpha": 0.5,
        "synthetic_beta": 0.5,
    }
    generates_data: ClassVar[bool] = True
    num_classes: ClassVar[int | None] = 10

    feature_spread: str = parameter(
        Reading("R22", "deviation", "variance", "variance"),
        "j^-1.2 is the standard deviation, or the variance, of feature j within a client",
        choices=FEATURE_SPREADS,
    )
    client_sizes: str = parameter(
        "power_law",
        "a power law; or equal; or ten times as large for the first half of the ids, which are the "
        "more available clients with markov_order=blocks",
        choices=CLIENT_SIZES,
    )

    def build(self) -> FederatedData:
        """See `TaskConfig.build`."""
        return datasets.leaf_synthetic(
            self.num_clients,
            self.synthetic_alpha,
            self.synthetic_beta,
            self.data_seed,
            feature_spread=self.feature_spread,
            client_sizes=self.client_sizes,
        )
