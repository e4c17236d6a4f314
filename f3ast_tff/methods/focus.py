"""FOCUS (Ying, Li and Yang, NeurIPS 2025): the server follows the sum of latest gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from f3ast_tff.methods.parts.aggregation import SHARE
from f3ast_tff.methods.parts.memory import Client, ClientInit, RoundContext, Values
from f3ast_tff.methods.parts.method import MethodRules, method
from f3ast_tff.methods.parts.update_memory import UpdateMemory


@method(
    "focus",
    "FOCUS",
    about="steps against the sum of p_k times the gradient of each client's last local step",
    order=28,
    reaches_optimum=True,
    step_scale=1,
)
@dataclass(frozen=True)
class Focus(UpdateMemory, MethodRules):
    """G_k, the gradient of client k's last local step, and sum_j p_j G_j; 0 at first.

        client k of S:  y_k = 0, then in each local step  x -= rate y_k,  y_k += g - g_before
        server:         y += sum_{k in S} y_k,  w -= rate y

    g_before is the gradient of the previous step; for the first step of a round it is G_k, from
    the client's previous round. So y_k = g - G_k within the round. At its end y_k is the new G_k
    minus the old G_k, and y = sum_j G_j. In the terms of `UpdateMemory`, whose vectors are -G_k:

        client k of S steps along g - G_k;   D_k = -rate (g - G_k), its last step alone
        Delta = sum_{k in S} p_k D_k - rate sum_j p_j G_j;   then G_k -= D_k / rate for k in S

    The model moves in every round, also in a round without clients.

    The paper's y is a sum over clients; here it is a mean with weights p_j. So for p_j = 1/N the
    paper's step needs a server rate of N here. The paper's first local step does not move the
    model (y_k = 0), so S gradients make S - 1 moves. Here the step along the last gradient is made
    and left out of Delta.
    """

    weights: ClassVar[str] = SHARE
    takes: ClassVar[tuple[str, ...]] = (SHARE,)
    last_step: ClassVar[bool] = True
    reads_gradients: ClassVar[bool] = True

    def client(self, client: Client, server: Values, now: RoundContext) -> ClientInit:
        """The client steps along g - G_k."""
        return ClientInit(offset=client.kept["update"])

    def after_client(
        self, client: Client, update: Values, server: Values, now: RoundContext
    ) -> Values:
        """A client without any step keeps its gradient."""
        noted = super().after_client(client, update, server, now)
        return {**noted, "update": client.kept["update"] + noted["update"]}
