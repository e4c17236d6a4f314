"""Amplified FedAvg (Wang and Ji, NeurIPS 2022): amplifies the model's movement over a period."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from f3ast_tff.methods.parts.aggregation import SumOrMean
from f3ast_tff.methods.parts.all_available import AllAvailableConfig
from f3ast_tff.methods.parts.memory import Memory, RoundContext, Values
from f3ast_tff.settings import parameter, register


@dataclass(frozen=True)
class PeriodStart(Memory):
    """The model at the start of a period of P rounds.

        after every P-th round:   w = w + (eta - 1) (w - w at the period's start)

    Attributes:
        period: P, at least 1.
        gain: eta, above 0.
    """

    period: int
    gain: float

    server_vectors: ClassVar[Mapping[str, str]] = MappingProxyType({"period_start": "model"})

    def ends(self, now: RoundContext) -> Any:
        """Whether a period ends with this round."""
        return now.round_number % self.period == 0

    def end_round(self, server: Values, model: Any, now: RoundContext) -> tuple[Values, Any]:
        start, ends = server["period_start"], self.ends(now)
        model = now.xp.where(ends, model + (self.gain - 1) * (model - start), model)
        return {**server, "period_start": now.xp.where(ends, model, start)}, model


@register(
    "aggregation",
    "amplified_fedavg",
    "Amplified FedAvg",
    about="mean of the updates; each period's movement is amplified at the period's end",
    order=10,
)
@dataclass(frozen=True)
class AmplifiedFedAvg(SumOrMean):
    """The weighted sum or mean of the updates, amplified by `PeriodStart`."""

    amplified_period: int = parameter(500, "rounds of a period", minimum=1)
    amplified_gain: float = parameter(10.0, "factor of a period's movement", above=0)

    @property
    def memory(self) -> PeriodStart:
        return PeriodStart(self.amplified_period, self.amplified_gain)


@register(
    "algorithm",
    "amplified_fedavg",
    "Amplified FedAvg",
    about="mean over all available clients (or K of them); each period's movement is amplified",
    order=26,
)
@dataclass(frozen=True)
class AmplifiedFedAvgConfig(AllAvailableConfig):
    """Configuration of `AllAvailable` with amplified periods: a mean with weights p_k."""

    aggregation: ClassVar[str] = "amplified_fedavg"
