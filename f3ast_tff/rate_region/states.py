"""Availability written out as states with chances: all of them, or a sample of rounds."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

_MAX_CLIENTS = 20


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
    """Returns rounds of a process as states, each as likely: a Monte-Carlo pi.

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
