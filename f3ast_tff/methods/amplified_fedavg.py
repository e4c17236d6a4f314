"""Amplified FedAvg (Wang and Ji, NeurIPS 2022): amplifies the model's movement over a period."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from f3ast_tff.methods.parts.memory import RoundContext, Values
from f3ast_tff.methods.parts.method import MeanOfAvailable, method
from f3ast_tff.settings import parameter


def amplified(
    server: Values, model: Any, now: RoundContext, *, period: int, gain: float
) -> tuple[Values, Any]:
    """Returns the server's values and the model at the end of a round, periods being amplified.

    After every P-th round, P = `period` >= 1 and eta = `gain` > 0:

        w = w + (eta - 1) (w - w at the period's start),   `server["period_start"]`
    """
    start, ends = server["period_start"], now.round_number % period == 0
    model = now.xp.where(ends, model + (gain - 1) * (model - start), model)
    return {**server, "period_start": now.xp.where(ends, model, start)}, model


@method(
    "amplified_fedavg",
    "Amplified FedAvg",
    about="each period's movement is amplified at the period's end",
    order=26,
)
@dataclass(frozen=True)
class AmplifiedFedAvg(MeanOfAvailable):
    """The weighted sum or mean of the updates, whose periods are `amplified`."""

    amplified_period: int = parameter(500, "rounds of a period", minimum=1)
    amplified_gain: float = parameter(10.0, "factor of a period's movement", above=0)

    server_vectors: ClassVar[Mapping[str, str]] = MappingProxyType({"period_start": "model"})

    def end_round(self, server: Values, model: Any, now: RoundContext) -> tuple[Values, Any]:
        period, gain = self.amplified_period, self.amplified_gain
        return amplified(server, model, now, period=period, gain=gain)
