"""Arrival and departure: clients join at a round and leave at a later one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from f3ast_tff.availability.stays import FOREVER, Stays, StaysConfig, check_presence
from f3ast_tff.components import parameter, register
from f3ast_tff.errors import ParameterError
from f3ast_tff.randomness import generator


class ArrivalDeparture(Stays):
    """Client k is available with probability q in rounds first_k .. last_k, else never.

    A share of the clients, drawn, arrives at a round uniform on 1 .. H; the others are there from
    round 1. A share, drawn independently, departs after a round uniform on first_k .. H; the
    others stay. After round H no one comes or goes. The question is that of Ruan et al. (AISTATS
    2021, arXiv 2006.06954); the law of the rounds is chosen here.
    """

    def __init__(
        self,
        num_clients: int,
        seed: int,
        horizon: int,
        arrivals: float = 0.5,
        departures: float = 0.5,
        q: float = 1.0,
    ) -> None:
        """Draws who joins and leaves when.

        Args:
            num_clients: Number of clients N.
            seed: Seed of all draws.
            horizon: H, at least 1.
            arrivals: Share of the clients that arrive, in [0, 1]; the number is rounded.
            departures: Share that depart, in [0, 1]; the number is rounded.
            q: Probability to be available between, in [0, 1].

        Raises:
            ParameterError: If a value is not allowed.
        """
        check_presence(horizon, q)
        for name, value in {"arrival_share": arrivals, "departure_share": departures}.items():
            if not 0 <= value <= 1:
                raise ParameterError(name, value, "must be in [0, 1]")
        rng = generator(seed, "arrival and departure")
        rank = np.array([rng.permutation(num_clients) for _ in range(2)])
        arrives, departs = rank < np.rint(np.array([[arrivals], [departures]]) * num_clients)
        first = np.where(arrives, rng.integers(1, horizon + 1, num_clients), 1)
        leaves = rng.integers(first, horizon + 1)
        super().__init__(first, np.where(departs, leaves, FOREVER), seed, horizon, q)


@register(
    "availability",
    "arrival_departure",
    "Arrival and departure",
    about="clients join at a round and leave at a later one",
    order=23,
)
@dataclass(frozen=True)
class ArrivalDepartureConfig(StaysConfig):
    """Configuration of `ArrivalDeparture`."""

    arrival_share: float = parameter(
        0.5, "share of the clients that join after the start", minimum=0, maximum=1
    )
    departure_share: float = parameter(
        0.5, "share of the clients that leave before the end", minimum=0, maximum=1
    )

    @classmethod
    def renews_shares(cls, known: Any) -> bool:
        """See `AvailabilityConfig.renews_shares`: p_k stay those of all clients."""
        return False

    def build(self, p: np.ndarray, seed: int) -> ArrivalDeparture:
        """See `AvailabilityConfig.build`."""
        return ArrivalDeparture(
            *(len(p), seed, self.presence_rounds),
            arrivals=self.arrival_share,
            departures=self.departure_share,
            q=self.presence_q,
        )
