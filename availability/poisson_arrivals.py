"""Poisson arrivals: clients join one after the other and stay for exponential times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from f3ast_tff.availability.stays import Stays, StaysConfig
from f3ast_tff.components import Derived, parameter, register
from f3ast_tff.errors import ParameterError
from f3ast_tff.randomness import generator

# More than any number of clients; NumPy draws no Poisson variable of a mean above 9e18.
_MOST_MEAN = 1e15


def poisson_stays(
    num_clients: int, seed: int, rate: float, stay: float
) -> tuple[np.ndarray, np.ndarray]:
    """Draws when clients join and leave: an M/M/infinity queue, from its stationary law on.

    Poisson(rate x stay) clients are there at time 1, the others arrive, in random order, as a
    Poisson process; each stays for an exponential time. So Poisson(rate x stay) are present in
    every round, and their numbers in rounds s and t have covariance
    rate x stay x exp(-|t - s| / stay), until all N have come. A client comes once.

    Args:
        num_clients: Number of clients N.
        seed: Seed of all draws.
        rate: Arrivals a round, above 0.
        stay: Mean stay, rounds, above 0.

    Returns:
        First and last round of each client, `int64 [N]`: those at whose start it is there. Last is
        below first for a stay between two of them.

    Raises:
        ParameterError: If a value is not above 0 and finite.
    """
    for name, value in {"presence_stay": stay, "presence_arrivals": rate}.items():
        if not 0 < value < np.inf:
            raise ParameterError(name, value, "must be above 0 and finite")
    rng = generator(seed, "poisson arrivals")
    order = rng.permutation(num_clients)
    there = min(int(rng.poisson(min(rate * stay, _MOST_MEAN))), num_clients)
    gaps = rng.exponential(1 / rate, num_clients)
    gaps[:there] = 0.0
    come = 1 + np.cumsum(gaps)
    leave = come + rng.exponential(stay, num_clients)
    first, last = np.empty((2, num_clients), np.int64)
    first[order] = _rounds_up(come)
    last[order] = _rounds_up(leave) - 1
    return first, last


def _rounds_up(times: np.ndarray) -> np.ndarray:
    return np.ceil(np.minimum(times, 2.0**62)).astype(np.int64)


@register(
    "availability",
    "poisson_arrivals",
    "Poisson arrivals",
    about="clients join as a Poisson process and stay for exponential times",
    order=26,
)
@dataclass(frozen=True)
class PoissonArrivalsConfig(StaysConfig):
    """Configuration of `Stays` drawn by `poisson_stays`."""

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
        """See `AvailabilityConfig.build`."""
        rate = self.presence_arrivals
        if rate is None:
            rate = len(p) / (self.presence_stay + self.presence_rounds)
        stays = poisson_stays(len(p), seed, rate, self.presence_stay)
        return Stays(*stays, seed, self.presence_rounds, self.presence_q)
