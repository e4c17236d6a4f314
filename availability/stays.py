"""Stays: each client joins at a round and leaves after a later one, by a file or by chance."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.availability.draws import bernoulli
from f3ast_tff.availability.logs.stays_files import FOREVER, read_stays
from f3ast_tff.availability.process import AvailabilityConfig
from f3ast_tff.core.randomness import generator
from f3ast_tff.settings import REQUIRED, Derived, parameter, register

# Above any number of clients, below the largest mean of NumPy's Poisson draws, 9e18.
_MAX_MEAN = 1e15


class Stays:
    """Client k is present in rounds first_k .. last_k, and available in them with probability q.

    Attributes:
        first: First round of each client, `int64 [N]`.
        last: Last round of each client, `int64 [N]`; `FOREVER` for a client that stays, below
            `first` for a client that is never present.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import Stays
        >>> first, last = np.array([1, 3]), np.array([4, 5])
        >>> process = Stays(first, last, seed=0, horizon=5)
        >>> [process.mask(t).tolist() for t in (1, 3, 5)], process.stationary.tolist()
        ([[True, False], [True, True], [False, True]], [0.8, 0.6])
    """

    # Presence depends on the round for all clients: fewer may be present at the ends.
    positively_correlated = True
    periodic = True

    def __init__(
        self, first: np.ndarray, last: np.ndarray, seed: int, horizon: int, q: float = 1.0
    ) -> None:
        """Takes the stays.

        Args:
            first: First round of each client, `int [N]`, at least 1.
            last: Last round of each client, `int [N]`.
            seed: Seed of the availability of present clients.
            horizon: H, number of rounds for the mean of `stationary`, at least 1.
            q: Probability to be available while present, in [0, 1].
        """
        self.first, self.last = first, last
        self.num_clients = len(first)
        self.seed = seed
        self._horizon = horizon
        self._q = np.full(self.num_clients, q)

    @property
    def stationary(self) -> np.ndarray:
        """Mean over rounds 1 .. H, `float64 [N]`: q (min(last_k, H) - first_k + 1) / H."""
        rounds = np.maximum(np.minimum(self.last, self._horizon) - self.first + 1, 0)
        return self._q * rounds / self._horizon

    def present(self, round_number: int) -> np.ndarray:
        return (self.first <= round_number) & (round_number <= self.last)

    def mask(self, round_number: int) -> np.ndarray:
        rng = generator(self.seed, "availability", round_number)
        return self.present(round_number) & bernoulli(self._q, rng)


@dataclass(frozen=True)
class StaysConfig(AvailabilityConfig):
    """Base of processes of stays."""

    positively_correlated: ClassVar[bool] = Stays.positively_correlated

    presence_q: float = parameter(
        1.0, "probability of being available between joining and leaving", minimum=0, maximum=1
    )
    presence_rounds: int = parameter(
        Derived(lambda known: known["rounds"], "rounds", from_rounds=True),
        "last round in which clients join or leave",
        minimum=1,
        units="rounds",
    )

    @classmethod
    def renews_shares(cls, known: Any) -> bool:
        """Always true."""
        return True


@register(
    "availability",
    "stays",
    "Stays",
    about="clients join and leave at the rounds that a file says",
    order=25,
)
@dataclass(frozen=True)
class StaysFileConfig(StaysConfig):
    """Stays read from a file.

    Examples:
        >>> import numpy as np
        >>> import pandas as pd
        >>> from f3ast_tff.availability import StaysFileConfig
        >>> stays = pd.DataFrame({"client": [0, 1], "first": [1, 3], "last": [4, 5]})
        >>> stays.to_csv("stays.csv", index=False)
        >>> config = StaysFileConfig(stays_file="stays.csv", presence_rounds=5)
        >>> process = config.build(np.ones(3) / 3, seed=0)
        >>> [process.mask(t).astype(int).tolist() for t in (1, 3, 5)]
        [[1, 0, 1], [1, 1, 1], [0, 1, 1]]
    """

    stays_file: str = parameter(REQUIRED, "a CSV file: client, first and last round", is_input=True)

    def build(self, p: np.ndarray, seed: int) -> Stays:
        first, last = read_stays(Path(self.stays_file), len(p))
        return Stays(first, last, seed, self.presence_rounds, self.presence_q)


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
        """p_k stay shares among all clients."""
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
        """Returns the process of the file's stays.

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
