"""The greedy choice as a linear oracle over the rate region: a vertex per utility vector.

Availability is given as states with chances (all states or a sample of rounds), or by independent
clients.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

_MAX_CLIENTS = 20
# Above it, choices and their mixtures are kept as the clients in them: a choice holds few of many.
MANY_CLIENTS = 10_000


@dataclass(frozen=True)
class AvailabilityStates:
    """A stationary distribution pi over configurations |S| <= k, S available (Assumption 1).

    Attributes:
        masks: Available clients of each state, `bool [M, N]`.
        chances: pi, `float64 [M]`, at least 0, of sum 1.
        k: K of each state, `int [M]`, each at least 1.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.rate_region import AvailabilityStates, StatesOracle
        >>> masks = np.array([[True, False], [True, True]])
        >>> states = AvailabilityStates(masks, np.array([0.25, 0.75]), k=np.array([1, 2]))
        >>> StatesOracle(states).best(np.ones(2)).tolist()
        [1.0, 0.75]
    """

    masks: np.ndarray
    chances: np.ndarray
    k: np.ndarray

    def __post_init__(self) -> None:
        if self.masks.ndim != 2 or self.masks.dtype != bool:
            raise ValueError("masks must be bool [M, N]")
        if self.chances.shape != self.masks.shape[:1] or self.k.shape != self.chances.shape:
            raise ValueError("chances and k must be [M], one for each mask")
        if not np.all(self.chances >= 0) or abs(self.chances.sum() - 1) > 1e-9:
            raise ValueError("chances must be at least 0 and sum to 1")
        if np.any(self.k < 1):
            raise ValueError("every k must be at least 1")

    @property
    def num_clients(self) -> int:
        """Number of clients N."""
        return self.masks.shape[1]


def independent_states(q: np.ndarray, k: int) -> AvailabilityStates:
    """Returns all 2^N states of clients that are available independently.

    Args:
        q: Availability q_k, `float [N]` in [0, 1], N at most 20.
        k: K, at least 1.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.rate_region import independent_states
        >>> states = independent_states(np.array([0.5, 0.8]), k=1)
        >>> states.masks.astype(int).tolist(), states.chances.round(3).tolist()
        ([[0, 0], [0, 1], [1, 0], [1, 1]], [0.1, 0.4, 0.1, 0.4])
    """
    if len(q) > _MAX_CLIENTS:
        raise ValueError(f"{len(q)} clients have 2^{len(q)} states; at most {_MAX_CLIENTS}")
    masks = np.array(list(itertools.product([False, True], repeat=len(q))), bool)
    chances = np.prod(np.where(masks, q, 1 - np.asarray(q)), axis=1)
    possible = chances > 0
    return AvailabilityStates(
        masks[possible], chances[possible], np.full(int(possible.sum()), k, np.int64)
    )


def cluster_states(q: np.ndarray, clusters: np.ndarray, k: int) -> AvailabilityStates:
    """Returns all 2^G states of clusters that are available independently, as a whole.

    Args:
        q: Availability of each cluster, `float [G]`, G at most 20.
        clusters: Cluster of each client, `int [N]`.
        k: K, at least 1.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.rate_region import cluster_states
        >>> clusters = np.array([0, 0, 1])
        >>> states = cluster_states(np.array([0.5, 1.0]), clusters, k=2)
        >>> states.masks.astype(int).tolist(), states.chances.tolist()
        ([[0, 0, 1], [1, 1, 1]], [0.5, 0.5])
    """
    by_cluster = independent_states(q, k)
    return AvailabilityStates(by_cluster.masks[:, clusters], by_cluster.chances, by_cluster.k)


def sampled_states(masks: Iterable[np.ndarray], k: int) -> AvailabilityStates:
    """Returns rounds of a process as equally likely states: a Monte-Carlo pi.

    Args:
        masks: Available clients of each round, `bool [N]` each.
        k: K, at least 1.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import ScarceConfig
        >>> from f3ast_tff.rate_region import StatesOracle, sampled_states
        >>> process = ScarceConfig(scarce_q=0.2).build(np.ones(50) / 50, seed=0)
        >>> states = sampled_states((process.mask(t) for t in range(1, 101)), k=10)
        >>> rates = StatesOracle(states).best(np.ones(50))
        >>> states.masks.shape, round(float(rates.sum()), 1)  # Of at most 10.
        ((100, 50), 9.0)
    """
    stacked = np.array(list(masks), bool)
    m = len(stacked)
    return AvailabilityStates(stacked, np.full(m, 1 / m), np.full(m, k, np.int64))


class RegionOracle(Protocol):
    """Maximises a linear function over the rate region R of Sec. III-A.

    Attributes:
        num_clients: Number of clients N.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.rate_region import optimal_rates
        >>> class OneOfTwo:  # A region of one's own: one of two clients in every round.
        ...     num_clients = 2
        ...     def best(self, utility):
        ...         return np.eye(2)[utility.argmax()]
        >>> found = optimal_rates(np.array([0.75, 0.25]), "p_squared", OneOfTwo())
        >>> found.rates.round(2).tolist()
        [0.75, 0.25]
    """

    num_clients: int

    def best(self, utility: np.ndarray) -> np.ndarray:
        """Returns argmax over r in R of utility . r, `float64 [N]`.

        Args:
            utility: `float [N]`; a client of utility 0 or less is not selected.
        """
        ...


class StatesOracle:
    """Oracle of enumerated or sampled states; selects K available clients of largest utility.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.rate_region import StatesOracle, independent_states
        >>> oracle = StatesOracle(independent_states(np.array([0.5, 0.5]), k=1))
        >>> oracle.best(np.array([1.0, 2.0])).tolist()  # Client 0 only where 1 is away.
        [0.25, 0.5]
    """

    def __init__(self, states: AvailabilityStates, many_clients: int = MANY_CLIENTS) -> None:
        """Keeps the states.

        Args:
            states: The states.
            many_clients: Number of clients above which a choice is computed state by state, from
                the clients available there.
        """
        self.num_clients = states.num_clients
        self._states = states
        many = self.num_clients > many_clients
        self._available = [np.flatnonzero(mask) for mask in states.masks] if many else []

    def best(self, utility: np.ndarray) -> np.ndarray:
        """Time linear in states times clients, of many clients in those available per state."""
        if not self._available:
            return self._states.chances @ greedy_selections(self._states, utility)
        order = best_first(utility)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        wanted, rates = np.count_nonzero(utility > 0), np.zeros(len(order))
        for ids, k, chance in zip(self._available, self._states.k, self._states.chances):
            places = place[ids]
            if len(places) > k:
                places = np.partition(places, k - 1)[:k]
            rates[order[places[places < wanted]]] += chance
        return rates


class IndependentOracle:
    """Oracle of independently available clients; exact for any N, without enumerating states.

    The i-th best client is selected if it is available and fewer than K better clients are. The
    number of available better clients is Poisson-binomial; its distribution below K follows client
    by client. Time is N K per row of `q`.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.rate_region import IndependentOracle
        >>> oracle = IndependentOracle(np.full(4, 0.5), k=2)
        >>> oracle.best(np.array([4.0, 3.0, 2.0, 1.0])).tolist()
        [0.5, 0.5, 0.375, 0.25]
    """

    def __init__(self, q: np.ndarray, k: int) -> None:
        """Sets the availability.

        Args:
            q: Availability in [0, 1], `float [N]`; or `float [H, N]` for H equally frequent hours,
                with clients independent given the hour.
            k: K, at least 1.
        """
        self._q = np.atleast_2d(np.asarray(q, np.float64))
        if not (np.all(self._q >= 0) and np.all(self._q <= 1)):
            raise ValueError("every availability must be in [0, 1]")
        if k < 1:
            raise ValueError(f"k {k}: must be at least 1")
        self._k = k
        self.num_clients = self._q.shape[1]

    def best(self, utility: np.ndarray) -> np.ndarray:
        order = best_first(utility)
        rates = np.zeros(self.num_clients)
        # Chance, by hour, that exactly j < K better clients are available.
        count = np.zeros((len(self._q), self._k))
        count[:, 0] = 1
        for client in order[utility[order] > 0].tolist():
            q = self._q[:, client, None]
            rates[client] = np.mean(q[:, 0] * count.sum(axis=1))
            available = q * count
            count -= available
            count[:, 1:] += available[:, :-1]
        return rates


def greedy_selections(states: AvailabilityStates, utility: np.ndarray) -> np.ndarray:
    """Returns the greedy choice of each state, `bool [M, N]`."""
    order = best_first(utility)
    ranked = states.masks[:, order] & (utility[order] > 0)
    selected = np.zeros_like(ranked)
    # Selected: available, with fewer than K available clients before it.
    selected[:, order] = ranked & (np.cumsum(ranked, axis=1) <= states.k[:, None])
    return selected


def best_first(utility: np.ndarray) -> np.ndarray:
    """Returns client ids by falling utility; ties by lowest id."""
    return np.argsort(-utility, kind="stable")
