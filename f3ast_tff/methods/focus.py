"""FOCUS (Ying, Li and Yang, NeurIPS 2025): the server follows the sum of latest gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from f3ast_tff.methods.parts.aggregation import SHARE, Aggregation
from f3ast_tff.methods.parts.all_available import AllAvailableConfig
from f3ast_tff.methods.parts.memory import Client, ClientInit, RoundContext, UpdateMemory, Values
from f3ast_tff.settings import register


@dataclass(frozen=True)
class LatestGradients(UpdateMemory):
    """G_k, the gradient of client k's last local step, and sum_j p_j G_j; 0 at first.

        client k of S:  y_k = 0, then in each local step  x -= rate y_k,  y_k += g - g_before
        server:         y += sum_{k in S} y_k,  w -= rate y

    g_before is the gradient of the previous step; for the first step of a round it is G_k, from
    the client's previous round. So y_k = g - G_k within the round. At its end y_k is the new G_k
    minus the old G_k, and y = sum_j G_j. In the terms of `UpdateMemory`, whose vectors are -G_k:

        client k of S steps along g - G_k;   D_k = -rate (g - G_k), its last step alone
        Delta = sum_{k in S} p_k D_k - rate sum_j p_j G_j;   then G_k -= D_k / rate for k in S

    The paper's y is a sum over clients; here it is a mean with weights p_j. So for p_j = 1/N the
    paper's step needs a server rate of N here. The paper's first local step does not move the
    model (y_k = 0), so S gradients make S - 1 moves. Here the step along the last gradient is made
    and left out of Delta.
    """

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


@register(
    "aggregation",
    "focus",
    "FOCUS",
    about="steps against the sum of p_k times the gradient of each client's last local step",
    order=12,
)
@dataclass(frozen=True)
class Focus(Aggregation):
    """Algorithm 1: Delta of `LatestGradients` with weights p_k.

    The model moves in every round, also in a round without clients.
    """

    weights: ClassVar[str] = SHARE
    takes: ClassVar[tuple[str, ...]] = (SHARE,)

    @property
    def memory(self) -> LatestGradients:
        return LatestGradients()


@register(
    "algorithm",
    "focus",
    "FOCUS",
    about="takes all available clients (or K of them) and follows each client's latest gradient",
    order=28,
)
@dataclass(frozen=True)
class FocusConfig(AllAvailableConfig):
    """Configuration of `AllAvailable` with the memory of FOCUS: weights p_k."""

    aggregation: ClassVar[str] = "focus"
