"""FedProx (Li et al., MLSys 2020): clients are pulled towards the model that they were sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from f3ast_tff.methods.parts.aggregation import SumOrMean
from f3ast_tff.methods.parts.algorithm import MEAN_OF_AVAILABLE
from f3ast_tff.methods.parts.all_available import AllAvailableConfig
from f3ast_tff.methods.parts.memory import Client, ClientInit, Memory, RoundContext, Values
from f3ast_tff.settings import parameter, register


@dataclass(frozen=True)
class PullToStart(Memory):
    """Clients step along g + mu (w - w_t): they minimise F_k(w) + (mu / 2) |w - w_t|^2 (eq. (2)).

    Attributes:
        mu: At least 0.
    """

    mu: float

    def client(self, client: Client, server: Values, now: RoundContext) -> ClientInit:
        return ClientInit(pull=self.mu)


@register(
    "aggregation",
    "fedprox",
    "FedProx",
    about="sum or mean of the updates of clients that are pulled towards the model they were sent",
    order=13,
)
@dataclass(frozen=True)
class FedProx(SumOrMean):
    """The weighted sum or mean of updates trained with `PullToStart`; FedAvg's for mu = 0."""

    prox_mu: float = parameter(
        1.0, "mu: clients add (mu / 2) |w - w_t|^2 to their loss; 0 for FedAvg", minimum=0
    )

    @property
    def memory(self) -> PullToStart | None:
        return PullToStart(self.prox_mu) if self.prox_mu else None


@register(
    "algorithm",
    "fedprox",
    "FedProx",
    about="mean over all available clients (or K of them), pulled towards the model they were sent",
    order=33,
)
@dataclass(frozen=True)
class FedProxConfig(AllAvailableConfig):
    """Configuration of `AllAvailable` with FedProx's penalty: a mean with weights p_k."""

    aggregation: ClassVar[str] = "fedprox"
    client_share: ClassVar[str] = "examples"
    corrects: ClassVar[Mapping[str, str]] = MEAN_OF_AVAILABLE
