"""FedNova (Wang et al., NeurIPS 2020): each client counts for its mean step, not for all steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from f3ast_tff.methods.parts.aggregation import SumOrMean
from f3ast_tff.methods.parts.aggregation_checks import require_plain_sgd
from f3ast_tff.methods.parts.algorithm import MEAN_OF_AVAILABLE
from f3ast_tff.methods.parts.all_available import AllAvailableConfig
from f3ast_tff.methods.parts.memory import Client, ClientInit, Memory, RoundContext, Values
from f3ast_tff.settings import register
from f3ast_tff.settings.configuration import Settings


class NormalisedUpdates(Memory):
    """Client k sends D_k / tau_k, tau_k being its local steps; Delta is tau_eff times the average.

    tau_eff = sum_{k in S} w_k tau_k / sum_{k in S} w_k, over the updates that enter Delta (eq. (4),
    Sec. 4). So equal steps leave Delta as it is. A client without any step sends 0.
    """

    def client(self, client: Client, server: Values, now: RoundContext) -> ClientInit:
        return ClientInit(scale=1 / now.xp.maximum(client.steps, 1))

    def aggregated(self, delta: Any, server: Values, now: RoundContext) -> Any:
        assert now.cohort is not None
        weight = now.cohort.weight
        return now.cohort.steps / now.xp.where(weight > 0, weight, 1.0) * delta


@register(
    "aggregation",
    "fednova",
    "FedNova",
    about="sum or mean of clients' updates per local step, times the cohort's mean number of steps",
    order=15,
)
@dataclass(frozen=True)
class FedNova(SumOrMean):
    """The weighted sum or mean of `NormalisedUpdates`, for plain SGD on the clients."""

    @property
    def memory(self) -> NormalisedUpdates:
        return NormalisedUpdates()

    def check(self, settings: Settings) -> None:
        """With momentum tau_k would be another number."""
        super().check(settings)
        require_plain_sgd(settings, "client", "with aggregation fednova, which counts equal steps")


@register(
    "algorithm",
    "fednova",
    "FedNova",
    about="mean over all available clients (or K of them) of updates per local step",
    order=35,
)
@dataclass(frozen=True)
class FedNovaConfig(AllAvailableConfig):
    """Configuration of `AllAvailable` with FedNova's updates per step: a mean with weights p_k."""

    aggregation: ClassVar[str] = "fednova"
    client_share: ClassVar[str] = "examples"
    corrects: ClassVar[Mapping[str, str]] = MEAN_OF_AVAILABLE
