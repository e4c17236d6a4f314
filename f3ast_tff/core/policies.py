"""Static configuration-dependent policies f_{C,S} (Definition III.1): draws of S given C."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from f3ast_tff.core.choosing import ranked


class Policy(Protocol):
    """Picks a set at random, with chances that depend only on the round's configuration."""

    def choose(self, available: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
        """Returns the ids of a set of at most k available clients, `int64`.

        Args:
            available: Available clients, `bool [N]`.
            k: K_t, at least 1.
            rng: Source of the draw.
        """
        ...


@dataclass(frozen=True)
class GreedyMixture:
    """Draws an order of the clients and selects its first K available clients.

    Every point of the rate region under |S| <= K is the rate of such a policy. The vertices of the
    region are the rates of greedy choices, and a point is a mixture of at most N + 1 vertices.

    Attributes:
        utilities: Utility of each client in each order, `float64 [V, N]`; the lowest id wins ties,
            and a client of utility 0 or less is not selected.
        chances: Chance of each order, `float64 [V]`, at least 0, of sum 1.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import GreedyMixture
        >>> orders = np.array([[3, 2, 1], [1, 2, 3]])  # The first with chance 0.9.
        >>> policy = GreedyMixture(orders, np.array([0.9, 0.1]))
        >>> rng, available = np.random.default_rng(0), np.array([True, True, False])
        >>> sum(policy.choose(available, 1, rng).tolist() == [0] for _ in range(1000))
        904
    """

    utilities: np.ndarray
    chances: np.ndarray

    def __post_init__(self) -> None:
        if self.utilities.ndim != 2 or self.chances.shape != self.utilities.shape[:1]:
            raise ValueError("utilities must be [V, N] and chances [V]")
        _check_chances(self.chances)

    def choose(self, available: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
        order = self.utilities[rng.choice(len(self.chances), p=self.chances)]
        return ranked(np.flatnonzero(available & (order > 0)), order, None)[:k]


@dataclass(frozen=True)
class TabularPolicy:
    """f_{C,S} as a table: for each available set and K, sets to select and their chances.

    Attributes:
        masks: Available set of each entry, `bool [M, N]`.
        k: K of each entry, `int [M]`; no two entries share both mask and K.
        subsets: Sets S to select from, `bool [n, N]` for each entry.
        chances: f_{C,S}, `float64 [n]` for each entry, at least 0, of sum 1.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import TabularPolicy
        >>> both, alone = np.array([[True, True]]), np.array([[True, False], [False, True]])
        >>> policy = TabularPolicy(both, np.array([1]), (alone,), (np.array([0.25, 0.75]),))
        >>> rng = np.random.default_rng(0)
        >>> sum(policy.choose(both[0], 1, rng).tolist() == [1] for _ in range(1000))
        769
    """

    masks: np.ndarray
    k: np.ndarray
    subsets: tuple[np.ndarray, ...]
    chances: tuple[np.ndarray, ...]
    _places: dict[tuple[bytes, int], int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not len(self.masks) == len(self.k) == len(self.subsets) == len(self.chances):
            raise ValueError("masks, k, subsets and chances must be of one length")
        places = {}
        for place, (mask, k) in enumerate(zip(self.masks, self.k)):
            subsets = self.subsets[place]
            if np.any(subsets & ~mask) or np.any(subsets.sum(axis=1) > k):
                raise ValueError(f"entry {place} selects clients that are not there, or above K")
            _check_chances(self.chances[place])
            places[mask.tobytes(), int(k)] = place
        if len(places) < len(self.masks):
            raise ValueError("an available set occurs twice with the same K")
        object.__setattr__(self, "_places", places)

    def choose(self, available: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
        """Raises `ValueError` for an available set that is not in the table."""
        place = self._places.get((np.asarray(available, bool).tobytes(), int(k)))
        if place is None:
            raise ValueError(f"no entry for K = {k}, available {np.flatnonzero(available)}")
        chances = self.chances[place]
        return np.flatnonzero(self.subsets[place][rng.choice(len(chances), p=chances)])


def _check_chances(chances: np.ndarray) -> None:
    if not np.all(chances >= 0) or abs(chances.sum() - 1) > 1e-9:
        raise ValueError("chances must be at least 0 and sum to 1")
