"""The memory of FedLaAvg, MIFA, FedVARP and FedStale: everybody's latest update, one formula."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.memory import Client, ClientInit, Memory, RoundContext, Values
from f3ast_tff.settings import Derived, parameter

# Aggregations whose algorithms mean their weights for a sum over the cohort: p_k over a rate.
_OVER_RATES = ("sum", "fedstale")


@dataclass(frozen=True)
class UpdateMemory(Memory):
    """Latest update y_k of every client and their average, 0 for one that has not taken part yet.

        Delta = sum_{k in S} a_k (D_k - beta y_k) + beta sum_j p_j y_j,   then y_k = D_k for k in S

    S are the clients whose update D_k came back, a_k their weights in Delta. Updates are kept over
    the client learning rate of their round, so that Delta moves the model by today's rate times
    remembered gradients, also where the rate decays (FedLaAvg, eq. (5); MIFA, Algorithm 1).

    Attributes:
        beta: How much remembered updates count, in [0, 1].
        first_round: Round from which the model follows the memory; before it updates are noted and
            the model follows the cohort's weighted mean.
        waits: Whether the model stays where it is until every client (of p above 0) has taken part
            once.
        moves_alone: Whether the model follows the memory in a round without any update too.
    """

    beta: float = 1.0
    first_round: int = 1
    waits: bool = False
    moves_alone: bool = True

    vectors: ClassVar[Mapping[str, str]] = MappingProxyType({"update": "zero"})
    numbers: ClassVar[tuple[str, ...]] = ("seen",)
    averages: ClassVar[tuple[str, ...]] = ("update",)
    totals: ClassVar[tuple[str, ...]] = ("seen",)

    def _follows(self, now: RoundContext) -> Any:
        return now.round_number >= self.first_round

    def _factor(self, now: RoundContext) -> Any:
        """Beta over the rate by which updates are divided; 0 before `first_round`."""
        return now.xp.where(self._follows(now), self.beta * now.learning_rate, 0.0)

    def client(self, client: Client, server: Values, now: RoundContext) -> ClientInit:
        """See `Memory.client`: D_k - beta y_k."""
        return ClientInit(shift=-self._factor(now) * client.kept["update"])

    def after_client(
        self, client: Client, update: Any, server: Values, now: RoundContext
    ) -> Values:
        """See `Memory.after_client`: y_k = D_k, over the rate."""
        seen = now.xp.where(client.share > 0, 1.0, 0.0)
        return {"update": update / now.learning_rate, "seen": seen}

    def correction(self, server: Values, now: RoundContext) -> Any:
        """See `Memory.correction`: beta sum_j p_j y_j."""
        return self._factor(now) * server["average_update"]

    def mean(self, normalise: bool, now: RoundContext) -> Any:
        return normalise | ~self._follows(now)

    def steps(self, server: Values, now: RoundContext, present: Any) -> Any:
        """See `Memory.steps`: with clients always, unless it waits for others.

        Without any, if it `moves_alone`, from `first_round` on, once there is an update: S is empty
        and Delta is the average. A round whose clients were all dropped is such a round too.
        """
        follows = self.moves_alone & (self.beta > 0) & self._follows(now)
        remembers = follows & (server["total_seen"] > 0)
        complete = server["total_seen"] >= now.num_clients
        return (present | remembers) & (complete | (not self.waits))


def _as_meant(known: Any) -> str:
    meant_for = known.config_class("algorithm").aggregation
    return "sum" if meant_for in _OVER_RATES else "mean"


@dataclass(frozen=True)
class SumOrMean(Aggregation):
    """Base of aggregations whose memory goes with any cohort's sum or mean."""

    cohort_weights: str = parameter(
        Derived(_as_meant, "sum where the algorithm weighs by p over a rate, else mean"),
        "the cohort's weights count as they are (sum), or over their sum (mean)",
        choices=("mean", "sum"),
    )

    @property
    def normalise(self) -> bool:
        return self.cohort_weights == "mean"

    def takes_weights(self, meant_for: str) -> bool:
        """See `Aggregation.takes_weights`: a mean takes all, a sum those meant for one."""
        return self.normalise or meant_for in (*_OVER_RATES, "fedlaavg", "mifa")
