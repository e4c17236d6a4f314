"""The memory of every client's latest update, which MIFA, FedVARP, FedLaAvg and others share."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from f3ast_tff.methods.parts.memory import Client, ClientInit, Memory, RoundContext, Values


class UpdateMemory(Memory):
    """Latest update y_k of every client, 0 before its first, and the average of all y_k.

        Delta = sum_{k in S} a_k (D_k - beta y_k) + beta sum_j p_j y_j,   then y_k = D_k for k in S

    S is the set of clients whose update D_k arrived, with weights a_k in Delta. Updates are stored
    divided by the client learning rate of their round. So Delta moves the model by the current rate
    times remembered gradients, also if the rate decays (FedLaAvg, eq. (5); MIFA, Algorithm 1).

    Attributes:
        moves_alone: Whether the model follows the memory also in a round without any update.
    """

    moves_alone: ClassVar[bool] = True
    vectors: ClassVar[Mapping[str, str]] = MappingProxyType({"update": "zero"})
    numbers: ClassVar[tuple[str, ...]] = ("seen",)
    averages: ClassVar[tuple[str, ...]] = ("update",)
    totals: ClassVar[tuple[str, ...]] = ("seen",)

    @property
    def beta(self) -> float:
        """Factor of remembered updates, in [0, 1]."""
        return 1.0

    @property
    def first_round(self) -> int:
        """Round from which the model follows the memory; before it, the cohort's weighted mean."""
        return 1

    @property
    def waits(self) -> bool:
        """Whether the model stays until every client (of p above 0) has taken part once."""
        return False

    def _follows(self, now: RoundContext) -> Any:
        return now.round_number >= self.first_round

    def _factor(self, now: RoundContext) -> Any:
        """Factor of stored updates: beta times the learning rate; 0 before `first_round`."""
        return now.xp.where(self._follows(now), self.beta * now.learning_rate, 0.0)

    def client(self, client: Client, server: Values, now: RoundContext) -> ClientInit:
        """Client k sends D_k - beta y_k."""
        return ClientInit(shift=-self._factor(now) * client.kept["update"])

    def after_client(
        self, client: Client, update: Any, server: Values, now: RoundContext
    ) -> Values:
        """y_k = D_k, divided by the rate."""
        seen = now.xp.where(client.share > 0, 1.0, 0.0)
        return {"update": update / now.learning_rate, "seen": seen}

    def correction(self, server: Values, now: RoundContext) -> Any:
        """Beta sum_j p_j y_j."""
        return self._factor(now) * server["average_update"]

    def mean(self, normalise: bool, now: RoundContext) -> Any:
        return normalise | ~self._follows(now)

    def steps(self, server: Values, now: RoundContext, present: Any) -> Any:
        """A round with updates steps unless the memory `waits` for a client.

        A round without updates steps if the memory `moves_alone`, from `first_round` on, once
        there is an update: S is empty and Delta is the average. A round whose clients were all
        dropped counts as a round without updates.
        """
        follows = self.moves_alone & (self.beta > 0) & self._follows(now)
        remembers = follows & (server["total_seen"] > 0)
        complete = server["total_seen"] >= now.num_clients
        return (present | remembers) & (complete | (not self.waits))
