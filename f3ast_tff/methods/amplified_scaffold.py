"""Amplified SCAFFOLD (Crawshaw and Liu, NeurIPS 2024): controls over a period of rounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from f3ast_tff.methods.amplified_fedavg import amplified
from f3ast_tff.methods.parts.memory import Client, ClientInit, RoundContext, Values
from f3ast_tff.methods.parts.method import MeanOfAvailable, method
from f3ast_tff.methods.scaffold import mean_gradient
from f3ast_tff.settings import parameter


@method(
    "amplified_scaffold",
    "Amplified SCAFFOLD",
    about="as Amplified FedAvg, with controls as in SCAFFOLD that are renewed once a period",
    order=27,
    corrects=MappingProxyType({"algorithm": "scaffold"}),
    reaches_optimum=True,
)
@dataclass(frozen=True)
class AmplifiedScaffold(MeanOfAvailable):
    """Periods are `amplified`, with controls as in SCAFFOLD that are renewed once per period.

        client k of S steps along g - c_k + c;   c_k = the mean of its g over the last period in
        which it took part, and c = sum_j p_j c_j, both as of the period's start; 0 at first

    A client keeps c_k and its mean over this period. The mean becomes c_k at the client's first
    participation in a later period.
    """

    control_period: int = parameter(50, "rounds of a period of Amplified SCAFFOLD", minimum=1)
    control_gain: float = parameter(
        1.5, "factor of a period's movement in Amplified SCAFFOLD", above=0
    )

    vectors: ClassVar[Mapping[str, str]] = MappingProxyType({"control": "zero", "next": "zero"})
    numbers: ClassVar[tuple[str, ...]] = ("rounds", "period")
    averages: ClassVar[tuple[str, ...]] = ("next",)
    server_vectors: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"period_start": "model", "control": "zero"}
    )
    reads_gradients: ClassVar[bool] = True
    # Down: the model and c. Up: the update and the change of c_k.
    vectors_down: ClassVar[int] = 2
    vectors_up: ClassVar[int] = 2

    def _renewed(self, kept: Values, now: RoundContext) -> Values:
        """A client's values at the start of this period; periods are numbered from 1."""
        period = (now.round_number - 1) // self.control_period + 1
        first = kept["period"] != period
        return {
            "control": now.xp.where(first, kept["next"], kept["control"]),
            "next": kept["next"],
            "rounds": now.xp.where(first, 0.0, kept["rounds"]),
            "period": now.xp.asarray(period, now.xp.float32),
        }

    def client(self, client: Client, server: Values, now: RoundContext) -> ClientInit:
        return ClientInit(offset=server["control"] - self._renewed(client.kept, now)["control"])

    def after_client(
        self, client: Client, update: Any, server: Values, now: RoundContext
    ) -> Values:
        """Adds this round's gradient to the period's mean."""
        kept = self._renewed(client.kept, now)
        control, so_far, rounds = kept["control"], kept["next"], kept["rounds"]
        mean = control - server["control"] + mean_gradient(update, client.steps, now)
        mean = now.xp.where(rounds > 0, so_far + (mean - so_far) / (rounds + 1), mean)
        stepped = client.steps > 0
        return {
            **kept,
            "next": now.xp.where(stepped, mean, so_far),
            "rounds": rounds + now.xp.where(stepped, 1.0, 0.0),
        }

    def end_round(self, server: Values, model: Any, now: RoundContext) -> tuple[Values, Any]:
        period = self.control_period
        server, model = amplified(server, model, now, period=period, gain=self.control_gain)
        ends = now.round_number % period == 0
        control = now.xp.where(ends, server["average_next"], server["control"])
        return {**server, "control": control}, model
