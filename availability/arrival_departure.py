"""Arrival and departure: clients join at a round and leave at a later one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from f3ast_tff.availability.draws import bernoulli
from f3ast_tff.availability.process import AvailabilityConfig
from f3ast_tff.components import Derived, parameter, register
from f3ast_tff.errors import ParameterError
from f3ast_tff.randomness import generator


class ArrivalDeparture:
    """Client k is available with probability q in rounds first_k .. last_k, else never.

    A share of the clients, drawn, arrives at a round uniform on 1 .. H; the others are there from
    round 1. A share, drawn independently, departs after a round uniform on first_k .. H; the
    others stay. After round H no one comes or goes. The question is that of Ruan et al. (AISTATS
    2021, arXiv 2006.06954); the law of the rounds is chosen here.

    Attributes:
        first: First round of each client, `int64 [N]`.
        last: Its last round, `int64 [N]`; the largest `int64` for one that stays.
    """

    # All depend on the round: many are there in the middle, few at the ends.
    positively_correlated = True
    periodic = True

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
        if horizon < 1:
            raise ParameterError("presence_rounds", horizon, "must be at least 1")
        shares = {"arrival_share": arrivals, "departure_share": departures, "presence_q": q}
        for name, value in shares.items():
            if not 0 <= value <= 1:
                raise ParameterError(name, value, "must be in [0, 1]")
        rng = generator(seed, "arrival and departure")
        rank = np.array([rng.permutation(num_clients) for _ in range(2)])
        arrives, departs = rank < np.rint(np.array([[arrivals], [departures]]) * num_clients)
        self.first = np.where(arrives, rng.integers(1, horizon + 1, num_clients), 1)
        leaves = rng.integers(self.first, horizon + 1)
        self.last = np.where(departs, leaves, np.iinfo(np.int64).max)
        self.num_clients = num_clients
        self.seed = seed
        self._horizon = horizon
        self._q = np.full(num_clients, q)

    @property
    def stationary(self) -> np.ndarray:
        """Mean over rounds 1 .. H, `float64 [N]`: q (min(last_k, H) - first_k + 1) / H."""
        rounds = np.minimum(self.last, self._horizon) - self.first + 1
        return self._q * rounds / self._horizon

    def mask(self, round_number: int) -> np.ndarray:
        """See `AvailabilityProcess.mask`."""
        there = (self.first <= round_number) & (round_number <= self.last)
        return there & bernoulli(self._q, generator(self.seed, "availability", round_number))


@register(
    "availability",
    "arrival_departure",
    "Arrival and departure",
    about="clients join at a round and leave at a later one",
    order=23,
)
@dataclass(frozen=True)
class ArrivalDepartureConfig(AvailabilityConfig):
    """Configuration of `ArrivalDeparture`."""

    positively_correlated: ClassVar[bool] = ArrivalDeparture.positively_correlated

    arrival_share: float = parameter(
        0.5, "share of the clients that join after the start", minimum=0, maximum=1
    )
    departure_share: float = parameter(
        0.5, "share of the clients that leave before the end", minimum=0, maximum=1
    )
    presence_q: float = parameter(
        1.0, "probability of being available between joining and leaving", minimum=0, maximum=1
    )
    presence_rounds: int = parameter(
        Derived(lambda known: known["rounds"], "rounds", from_rounds=True),
        "last round in which clients join or leave",
        minimum=1,
        units="rounds",
    )

    def build(self, p: np.ndarray, seed: int) -> ArrivalDeparture:
        """See `AvailabilityConfig.build`."""
        return ArrivalDeparture(
            *(len(p), seed, self.presence_rounds),
            arrivals=self.arrival_share,
            departures=self.departure_share,
            q=self.presence_q,
        )
