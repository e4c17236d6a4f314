"""Over-commitment: asks more clients than needed and takes the first updates to arrive."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from f3ast_tff.availability import CommunicationConstraint
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.delivery.delivery import Arrivals
from f3ast_tff.delivery.device_times import TimedConfig
from f3ast_tff.settings import parameter, register

# Tolerance before rounding up, because 1.1 * 10 is a little above 11.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class MoreAsked:
    """A constraint that admits ceil(c K_t) clients, with K_t of an inner constraint.

    Attributes:
        constraint: The inner constraint.
        factor: c, at least 1.
        num_clients: N, the largest number of clients to ask.
    """

    constraint: CommunicationConstraint
    factor: float
    num_clients: int

    @property
    def largest_k(self) -> int:
        return self._more(self.constraint.largest_k)

    @property
    def mean_k(self) -> float:
        return min(self.factor * self.constraint.mean_k, float(self.num_clients))

    def limit(self, round_number: int) -> RoundConstraint:
        constraint = self.constraint.limit(round_number)
        if constraint.cost is not None:
            allowed = "over_commit needs a constraint on the number of clients, not a budget"
            raise ParameterError("delivery", "over_commit", allowed)
        return replace(constraint, k=self._more(constraint.k))

    def _more(self, k: int) -> int:
        return max(k, min(math.ceil(self.factor * k - _ROUNDING), self.num_clients))


@register(
    "delivery",
    "over_commit",
    "Over-commitment",
    about="asks c K clients and takes the first K to arrive",
    order=5,
)
@dataclass(frozen=True)
class OverCommit(TimedConfig):
    """Takes the first K_t updates to arrive; the round ends with the last of these.

    Either all draws of a client arrive, or none; so a client drawn several times may raise the
    number above K_t.

    All later updates are lost. Fast clients count more often than slow clients.

    Examples:
        >>> from f3ast_tff import simulate
        >>> from f3ast_tff.delivery import OverCommit
        >>> found = simulate(delivery=OverCommit(over_commitment=1.3), rounds=5).selection
        >>> found["num_selected"].tolist(), found["num_delivered"].tolist()
        ([13, 13, 13, 13, 13], [10, 10, 10, 10, 10])
    """

    over_commitment: float = parameter(
        1.3, "c, number of asked over number of wanted clients", minimum=1, maximum=1000
    )

    def arrivals(self, round_number: int, ids: np.ndarray) -> Arrivals:
        seconds = self.seconds(round_number, ids)
        wanted = self.world.constraint.limit(round_number).k
        # A client drawn twice arrives once, with both draws.
        _, place, client, draws = np.unique(
            ids, return_index=True, return_inverse=True, return_counts=True
        )
        order = np.lexsort((place, seconds[place]))
        there_before = np.cumsum(draws[order]) - draws[order]
        in_time = np.zeros(len(place), bool)
        in_time[order] = there_before < wanted
        delivered = in_time[client]
        return Arrivals(delivered, seconds, float(seconds[delivered].max(initial=0)))

    def asking(self, constraint: CommunicationConstraint, num_clients: int) -> MoreAsked:
        return MoreAsked(constraint, self.over_commitment, num_clients)
