"""Amplified FedAvg (Wang and Ji, NeurIPS 2022): amplifies the model's movement over a period."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from f3ast_tff.methods.parts.memory import RoundContext, Values
from f3ast_tff.methods.parts.method import MeanOfAvailable, method
from f3ast_tff.settings import parameter


class AmplifiedPeriods(MeanOfAvailable):
    """The model at the start of a period of P rounds, P = `period` >= 1, eta = `gain` > 0.

    After every P-th round:   w = w + (eta - 1) (w - w at the period's start)
    """

    server_vectors: ClassVar[Mapping[str, str]] = MappingProxyType({"period_start": "model"})

    @property
    def period(self) -> int:
        """P, at least 1."""
        raise NotImplementedError

    @property
    def gain(self) -> float:
        """eta, above 0."""
        raise NotImplementedError

    def ends(self, now: RoundContext) -> Any:
        """Whether a period ends with this round."""
        return now.round_number % self.period == 0

    def end_round(self, server: Values, model: Any, now: RoundContext) -> tuple[Values, Any]:
        start, ends = server["period_start"], self.ends(now)
        model = now.xp.where(ends, model + (self.gain - 1) * (model - start), model)
        return {**server, "period_start": now.xp.where(ends, model, start)}, model


@method(
    "amplified_fedavg",
    "Amplified FedAvg",
    about="each period's movement is amplified at the period's end",
    order=26,
)
@dataclass(frozen=True)
class AmplifiedFedAvg(AmplifiedPeriods):
    """The weighted sum or mean of the updates, with `AmplifiedPeriods`."""

    amplified_period: int = parameter(500, "rounds of a period", minimum=1)
    amplified_gain: float = parameter(10.0, "factor of a period's movement", above=0)

    @property
    def period(self) -> int:
        return self.amplified_period

    @property
    def gain(self) -> float:
        return self.amplified_gain
