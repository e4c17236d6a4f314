"""Clients that join and leave by chance: arrival and departure, and Poisson arrivals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from f3ast_tff.availability.stays import FOREVER, Stays, StaysConfig
from f3ast_tff.core.randomness import generator
from f3ast_tff.settings import Derived, parameter, register

# Above any number of clients, below the largest mean of NumPy's Poisson draws, 9e18.
_MAX_MEAN = 1e15


@register(
    "availability",
    "arrival_departure",
    "Arrival and departure",
    about="clients join at a round and leave at a later one",
    order=23,
)
@dataclass(frozen=True)
class ArrivalDepartureConfig(StaysConfig):
    """Client k is available with probability q in rounds first_k .. last_k, else never.

    A drawn share of the clients arrives at a round uniform on 1 .. H; all other clients are present
    from round 1. An independently drawn share departs after a round uniform on first_k .. H; all
    other clients stay. Both numbers of clients are rounded. After round H no client arrives or
    departs. Ruan et al. (AISTATS 2021, arXiv 2006.06954) study such clients; the law of the rounds
    is chosen here.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import ArrivalDepartureConfig
        >>> config = ArrivalDepartureConfig(presence_rounds=100, departure_share=0.2)
        >>> process = config.build(np.ones(1000) / 1000, seed=0)
        >>> [int(process.present(t).sum()) for t in (1, 50, 100, 200)]
        [504, 688, 806, 800]
    """

    arrival_share: float = parameter(
        0.5, "share of the clients that join after the start", minimum=0, maximum=1
    )
    departure_share: float = parameter(
        0.5, "share of the clients that leave before the end", minimum=0, maximum=1
    )

    @classmethod
    def renews_shares(cls, known: Any) -> bool:
        """See `AvailabilityConfig.renews_shares`: p_k stay shares among all clients."""
        return False

    def build(self, p: np.ndarray, seed: int) -> Stays:
        n, horizon = len(p), self.presence_rounds
        rng = generator(seed, "arrival and departure")
        arrives = rng.permutation(n) < np.rint(self.arrival_share * n)
        departs = rng.permutation(n) < np.rint(self.departure_share * n)
        first = np.where(arrives, rng.integers(1, horizon + 1, n), 1)
        leaves = rng.integers(first, horizon + 1)
        return Stays(first, np.where(departs, leaves, FOREVER), seed, horizon, self.presence_q)


@register(
    "availability",
    "poisson_arrivals",
    "Poisson arrivals",
    about="clients join as a Poisson process and stay for exponential times",
    order=26,
)
@dataclass(frozen=True)
class PoissonArrivalsConfig(StaysConfig):
    """An M/M/infinity queue, from its stationary law on.

    Poisson(rate x stay) clients are present at time 1. All other clients arrive, in random order,
    as a Poisson process. Each client stays for an exponential time and comes once. So until all N
    have come, Poisson(rate x stay) clients are present in every round, and their numbers in rounds
    s and t have covariance rate x stay x exp(-|t - s| / stay).

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import PoissonArrivalsConfig
        >>> config = PoissonArrivalsConfig(presence_rounds=100, presence_stay=20)
        >>> process = config.build(np.ones(1200) / 1200, seed=0)
        >>> [int(process.present(t).sum()) for t in (1, 50, 100)]  # Around 200.
        [198, 203, 209]
    """

    presence_stay: float = parameter(
        Derived(lambda known: known["rounds"] / 2, "half of the rounds", from_rounds=True),
        "mean time from joining to leaving",
        above=0,
        units="rounds",
    )
    presence_arrivals: float | None = parameter(
        None,
        "clients that join in a round, on average; by default as many as use up all clients in "
        "presence_rounds, N / (presence_stay + presence_rounds)",
        above=0,
    )

    def build(self, p: np.ndarray, seed: int) -> Stays:
        """See `AvailabilityConfig.build`.

        A client is present in a round if it is there at the round's start. For a stay between two
        starts, its last round is below its first.
        """
        n, stay, rate = len(p), self.presence_stay, self.presence_arrivals
        if rate is None:
            rate = n / (stay + self.presence_rounds)
        rng = generator(seed, "poisson arrivals")
        order = rng.permutation(n)
        there = min(int(rng.poisson(min(rate * stay, _MAX_MEAN))), n)
        gaps = rng.exponential(1 / rate, n)
        gaps[:there] = 0.0
        come = 1 + np.cumsum(gaps)
        leave = come + rng.exponential(stay, n)
        first, last = np.empty((2, n), np.int64)
        first[order], last[order] = _rounds_up(come), _rounds_up(leave) - 1
        return Stays(first, last, seed, self.presence_rounds, self.presence_q)


def _rounds_up(times: np.ndarray) -> np.ndarray:
    return np.ceil(np.minimum(times, 2.0**62)).astype(np.int64)
