"""Convex minimisation over the rate region with a linear oracle and a certified gap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from f3ast_tff.rate_region.oracle import RegionOracle

# How exact a line search is: the second-order loss is 1e-4 of what the step gains.
_STEP_ACCURACY = 1e-2
# Keeps trial points at the edge, where a rate is 0, from overflow.
_LEAST_RATE = 1e-30


class Convex(Protocol):
    """A smooth convex function of the rates."""

    def value(self, r: np.ndarray) -> float:
        """Returns f(r)."""
        ...

    def utility(self, r: np.ndarray) -> np.ndarray:
        """Returns -df/dr, `float64 [N]`."""
        ...


@dataclass(frozen=True)
class Minimum:
    """A minimiser over the region, as a mixture of greedy choices.

    Attributes:
        rates: r, `float64 [N]`, in the region.
        value: f(r).
        gap: Duality gap: f(r) is at most so far above the minimum.
        oracle_calls: How many greedy choices were asked for.
        utilities: The utility vectors whose greedy choices are mixed, `float64 [V, N]`.
        chances: Their chances, `float64 [V]`; with `utilities` a policy that achieves `rates`.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.rate_region import IndependentOracle, optimal_rates
        >>> oracle = IndependentOracle(np.full(4, 0.5), k=2)
        >>> found = optimal_rates(np.ones(4) / 4, "p_squared", oracle, tolerance=0.01)
        >>> found.rates.round(1).tolist(), found.gap <= 0.01 * found.value
        ([0.4, 0.4, 0.4, 0.4], True)
    """

    rates: np.ndarray
    value: float
    gap: float
    oracle_calls: int
    utilities: np.ndarray
    chances: np.ndarray


def minimise(
    function: Convex,
    oracle: RegionOracle,
    start: list[np.ndarray],
    *,
    absolute: float = 0.0,
    relative: float = 0.0,
    max_steps: int,
) -> Minimum:
    """Minimises by Frank-Wolfe with blended pairwise steps (Tsuji, Tanaka and Pokutta 2022).

    Weight moves from the worst vertex held to the best while that promises enough; else the
    oracle is asked for a new vertex, and what is enough halves when it has none to offer. The
    line search is exact. Over a polytope the gap falls geometrically.

    Args:
        function: f, strictly convex where finite.
        oracle: The region.
        start: Utilities of the first vertices, mixed equally; f must be finite there.
        absolute: Gap at which to stop.
        relative: And the same as a share of f, in addition.
        max_steps: Most steps; the gap returned says how far it came.
    """
    held = _Mixture(oracle, start)
    enough = np.inf
    for _ in range(max_steps):
        r = held.rates()
        utility = function.utility(r)
        worth = held.vertices @ utility
        worst, best = int(np.argmin(worth)), int(np.argmax(worth))
        if worth[best] - worth[worst] >= enough:
            move = held.vertices[best] - held.vertices[worst]
            held.shift(worst, best, _line_search(function, r, move, float(held.weights[worst])))
            continue
        vertex = held.ask(utility)
        gap = float(utility @ (vertex - r))
        if gap <= absolute + relative * function.value(r):
            break
        if gap >= enough / 2:
            held.mix_in(utility, vertex, _line_search(function, r, vertex - r, 1.0))
        else:
            enough = gap / 2
        enough = min(enough, gap)
    r = held.rates()
    utility = function.utility(r)
    gap = float(utility @ (held.ask(utility) - r))
    chances = held.weights / held.weights.sum()
    return Minimum(
        r, function.value(r), max(gap, 0.0), held.calls, np.array(held.utilities), chances
    )


class _Mixture:
    """Vertices held, and their weights, above 0 and of sum 1."""

    def __init__(self, oracle: RegionOracle, start: list[np.ndarray]) -> None:
        self.oracle = oracle
        self.calls = 0
        self.utilities = [np.array(u, np.float64) for u in start]
        self.vertices = np.array([self.ask(u) for u in self.utilities])
        self.weights = np.full(len(start), 1 / len(start))

    def ask(self, utility: np.ndarray) -> np.ndarray:
        self.calls += 1
        return self.oracle.best(utility)

    def rates(self) -> np.ndarray:
        return self.weights @ self.vertices

    def shift(self, source: int, target: int, share: float) -> None:
        self.weights[target] += share
        self.weights[source] -= share
        self._drop_empty()

    def mix_in(self, utility: np.ndarray, vertex: np.ndarray, share: float) -> None:
        self.weights = np.append(self.weights * (1 - share), share)
        self.vertices = np.vstack([self.vertices, vertex])
        self.utilities.append(utility)
        self._drop_empty()

    def _drop_empty(self) -> None:
        keep = self.weights > 1e-15
        if not keep.all():
            self.vertices, self.weights = self.vertices[keep], self.weights[keep]
            self.utilities = [u for u, kept in zip(self.utilities, keep) if kept]
            self.weights /= self.weights.sum()


def _line_search(function: Convex, r: np.ndarray, move: np.ndarray, most: float) -> float:
    """Returns a step in [0, most], just short of the one that minimises f(r + step move)."""

    def falls(step: float) -> bool:
        point = np.maximum(r + step * move, _LEAST_RATE)
        return float(function.utility(point) @ move) > 0

    if falls(most):
        return most
    low, high = 0.0, most
    while high - low > _STEP_ACCURACY * low and low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if falls(middle) else (low, middle)
    return low
