"""SCAFFOLD (Karimireddy et al., ICML 2020): control variates for the clients' gradients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from f3ast_tff.methods.parts.memory import Client, ClientInit, RoundContext, Values
from f3ast_tff.methods.parts.method import MeanOfAvailable, method


def mean_gradient(update: Any, steps: Any, now: RoundContext) -> Any:
    """Returns the mean direction of a client's steps, -D_k / (steps x rate)."""
    return -update / (now.xp.maximum(steps, 1) * now.learning_rate)


@method(
    "scaffold",
    "SCAFFOLD",
    about="clients correct their gradients by their own and the average last gradients",
    order=25,
    reaches_optimum=True,
    step_scale=1,
)
@dataclass(frozen=True)
class Scaffold(MeanOfAvailable):
    """c_k, the mean gradient of client k in its last round, and c = sum_j p_j c_j; 0 at first.

        client k of S steps along g - c_k + c;   c_k = the mean of these g, for k in S

    This is Option II of Algorithm 1, c_k - c + (w_t - w_k) / (steps x rate), with p_j for 1/N.
    """

    vectors: ClassVar[Mapping[str, str]] = MappingProxyType({"control": "zero"})
    averages: ClassVar[tuple[str, ...]] = ("control",)
    reads_gradients: ClassVar[bool] = True
    # Down: the model and c. Up: the update and the change of c_k.
    vectors_down: ClassVar[int] = 2
    vectors_up: ClassVar[int] = 2

    def client(self, client: Client, server: Values, now: RoundContext) -> ClientInit:
        return ClientInit(offset=server["average_control"] - client.kept["control"])

    def after_client(
        self, client: Client, update: Any, server: Values, now: RoundContext
    ) -> Values:
        """A client without any step keeps its control."""
        control = client.kept["control"]
        stepped = mean_gradient(update, client.steps, now)
        mean = control - server["average_control"] + stepped
        return {"control": now.xp.where(client.steps > 0, mean, control)}
