"""The greedy choice as a linear oracle over the rate region: its vertices, one a utility vector."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from f3ast_tff.rate_region.states import AvailabilityStates


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
    """Of enumerated or sampled states: in each, the K available clients of largest utility.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.rate_region import StatesOracle, independent_states
        >>> oracle = StatesOracle(independent_states(np.array([0.5, 0.5]), k=1))
        >>> oracle.best(np.array([1.0, 2.0])).tolist()  # Client 0 only where 1 is away.
        [0.25, 0.5]
    """

    def __init__(self, states: AvailabilityStates) -> None:
        """Keeps the states."""
        self.num_clients = states.num_clients
        self._states = states

    def best(self, utility: np.ndarray) -> np.ndarray:
        """See `RegionOracle.best`; time linear in states times clients."""
        return self._states.chances @ greedy_selections(self._states, utility)


class IndependentOracle:
    """Of clients that are available independently, exact for any N: no states are enumerated.

    The i-th best client is selected if it is available and fewer than K better ones are; how many
    are is Poisson-binomial, and its distribution below K follows client by client. Time is N K a
    row of `q`.

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
            q: Availability, `float [N]`; or `float [H, N]` for H equally frequent hours, clients
                being independent given the hour. In [0, 1].
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
        """See `RegionOracle.best`."""
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
    # Selected: available, and fewer than K available ones before.
    selected[:, order] = ranked & (np.cumsum(ranked, axis=1) <= states.k[:, None])
    return selected


def best_first(utility: np.ndarray) -> np.ndarray:
    """Returns client ids by falling utility, the lowest id first where they tie."""
    return np.argsort(-utility, kind="stable")
