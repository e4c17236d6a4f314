"""FedNova (Wang et al., NeurIPS 2020): each client counts for its mean step, not for all steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from f3ast_tff.methods.parts.aggregation_checks import require_plain_sgd
from f3ast_tff.methods.parts.algorithm import MEAN_OF_AVAILABLE
from f3ast_tff.methods.parts.memory import Client, ClientInit, RoundContext, Values
from f3ast_tff.methods.parts.method import MeanOfAvailable, method
from f3ast_tff.settings.configuration import Settings


@method(
    "fednova",
    "FedNova",
    about="updates count per local step, times the cohort's mean number of steps",
    order=35,
    client_share="examples",
    corrects=MEAN_OF_AVAILABLE,
    step_scale=1,
)
@dataclass(frozen=True)
class FedNova(MeanOfAvailable):
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

    def check(self, settings: Settings) -> None:
        """With momentum tau_k would be another number."""
        super().check(settings)
        require_plain_sgd(settings, "client", "with aggregation fednova, which counts equal steps")
