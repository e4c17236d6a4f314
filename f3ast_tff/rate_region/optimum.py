"""The best achievable rates r* = argmin of H over the region, and policies that achieve rates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import sparse  # type: ignore[import-untyped]

from f3ast_tff.core.local_training import check_client_shares
from f3ast_tff.core.policies import GreedyMixture
from f3ast_tff.core.rates import numerators
from f3ast_tff.rate_region.oracle import (
    MANY_CLIENTS,
    AvailabilityStates,
    RegionOracle,
    greedy_selections,
)

# Accuracy of a line search; its second-order loss is 1e-4 of the step's gain.
_STEP_ACCURACY = 1e-2
# Least rate, which avoids overflow at trial points on the edge, where a rate is 0.
_LEAST_RATE = 1e-30
_TINY_RATE = 1e-9
# A client counts as covered by a choice that gives it this share of a mean client's rate.
_FAIR_SHARE = 1e-3


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
        gap: Duality gap, the largest distance of f(r) from the minimum.
        utilities: Utility vectors whose greedy choices are mixed, `float64 [V, N]`.
        chances: Chance of each choice, `float64 [V]`; with `utilities` a policy that achieves
            `rates`.

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
    with_policy: bool = True,
    point: np.ndarray | None = None,
) -> Minimum:
    """Minimises by Frank-Wolfe with blended pairwise steps (Tsuji, Tanaka and Pokutta 2022).

    While the promised gain is above a threshold, weight moves from the worst held vertex to the
    best. Otherwise the oracle is asked for a new vertex; if none promises enough, the threshold
    halves. The line search is exact. Over a polytope the gap falls geometrically.

    Args:
        function: f, strictly convex where finite.
        oracle: The region.
        start: Utilities of the first vertices, mixed equally; f must be finite at the mixture.
        absolute: Gap at which to stop.
        relative: Gap at which to stop as a share of f, added to `absolute`.
        max_steps: Largest number of steps; the returned gap tells the accuracy.
        with_policy: Whether the result has its utilities, a vector of N numbers per choice.
        point: Point of the region to start from instead, `float64 [N]`; without a policy.
    """
    held = _Mixture(oracle, start, with_policy, point)
    enough = np.inf
    for _ in range(max_steps):
        r = held.rates()
        utility = function.utility(r)
        worth = held.vertices @ utility
        worst, best = int(np.argmin(worth)), int(np.argmax(worth))
        if worth[best] - worth[worst] >= enough:
            move = held.vertex(best) - held.vertex(worst)
            held.shift(worst, best, _line_search(function, r, move, float(held.weights[worst])))
            continue
        vertex = held.ask(utility)
        gap = float(utility @ (vertex - r))
        if gap <= absolute + relative * function.value(r):
            break
        if gap >= enough / 2:
            held.mix_in(utility, vertex, _line_search(function, r, move=vertex - r, most=1.0))
        else:
            enough = gap / 2
        enough = min(enough, gap)
    r = held.rates()
    utility = function.utility(r)
    gap = float(utility @ (held.ask(utility) - r))
    chances = held.weights / held.weights.sum()
    return Minimum(
        rates=r,
        value=function.value(r),
        gap=max(gap, 0.0),
        utilities=np.array(held.utilities).reshape(-1, len(r)),
        chances=chances if with_policy else chances[:0],
    )


class _Mixture:
    """The held vertices, and their weights, above 0 and of sum 1."""

    def __init__(
        self,
        oracle: RegionOracle,
        start: list[np.ndarray],
        with_policy: bool,
        point: np.ndarray | None,
    ) -> None:
        self.oracle = oracle
        self.with_policy = with_policy
        self.utilities = [np.array(u, np.float64) for u in start] if with_policy else []
        self.many = oracle.num_clients > MANY_CLIENTS or point is not None
        points = [self.ask(u) for u in start] if point is None else [point]
        vertices = [self._kept(each) for each in points]
        self.vertices: Any = sparse.vstack(vertices, "csr") if self.many else np.vstack(vertices)
        self.weights = np.full(len(points), 1 / len(points))

    def ask(self, utility: np.ndarray) -> np.ndarray:
        return self.oracle.best(utility)

    def _kept(self, vertex: np.ndarray) -> Any:
        return sparse.csr_matrix(vertex) if self.many else vertex

    def vertex(self, number: int) -> np.ndarray:
        found = self.vertices[number]
        return np.asarray(found.toarray()[0] if self.many else found)

    def rates(self) -> np.ndarray:
        # Transposed, a sparse matrix is summed without a copy.
        return np.asarray(
            self.vertices.T @ self.weights if self.many else self.weights @ self.vertices
        )

    def shift(self, source: int, target: int, share: float) -> None:
        self.weights[target] += share
        self.weights[source] -= share
        self._drop_empty()

    def mix_in(self, utility: np.ndarray, vertex: np.ndarray, share: float) -> None:
        self.weights = np.append(self.weights * (1 - share), share)
        rows = [self.vertices, self._kept(vertex)]
        self.vertices = sparse.vstack(rows, "csr") if self.many else np.vstack(rows)
        self.utilities += [utility] if self.with_policy else []
        self._drop_empty()

    def _drop_empty(self) -> None:
        keep = self.weights > 1e-15
        if not keep.all():
            self.vertices, self.weights = self.vertices[keep], self.weights[keep]
            if self.with_policy:
                self.utilities = [u for u, kept in zip(self.utilities, keep) if kept]
            self.weights /= self.weights.sum()


def _line_search(function: Convex, r: np.ndarray, move: np.ndarray, most: float) -> float:
    """Returns a step in [0, most], just short of the minimiser of f(r + step move)."""

    def falls(step: float) -> bool:
        point = np.maximum(r + step * move, _LEAST_RATE)
        return float(function.utility(point) @ move) > 0

    if falls(most):
        return most
    low, high = 0.0, most
    while high - low > _STEP_ACCURACY * low and low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if falls(middle) else (low, middle)
    return low


@dataclass(frozen=True)
class _VarianceBound:
    """H(r) = sum_k c_k / r_k, eq. (3)."""

    c: np.ndarray

    def value(self, r: np.ndarray) -> float:
        return float(np.sum(self._over(r)))

    def utility(self, r: np.ndarray) -> np.ndarray:
        return self._over(np.square(r))

    def _over(self, power: np.ndarray) -> np.ndarray:
        return np.divide(self.c, power, out=np.zeros(len(power)), where=self.c > 0)


@dataclass(frozen=True)
class _Distance:
    """Half the squared distance to a target."""

    target: np.ndarray

    def value(self, r: np.ndarray) -> float:
        return float(np.sum(np.square(r - self.target)) / 2)

    def utility(self, r: np.ndarray) -> np.ndarray:
        return self.target - r


def optimal_rates(
    p: np.ndarray,
    objective: str,
    oracle: RegionOracle,
    *,
    tolerance: float = 1e-4,
    max_steps: int = 20_000,
    with_policy: bool = True,
    point: np.ndarray | None = None,
) -> Minimum:
    """Returns r* = argmin of H over the rate region (Sec. III-B), with its duality gap.

    Args:
        p: Client shares p_k, `float [N]`.
        objective: `"p_squared"` or `"p"`, the case of eq. (3).
        oracle: The region.
        tolerance: Gap at which to stop, as a share of H.
        max_steps: Largest number of steps; `Minimum.gap` tells the accuracy.
        with_policy: Whether to keep the mixture, whose utilities are a vector of N numbers each.
        point: Rates of the region to start from, `float64 [N]`, above 0 for each client that
            matters; without a policy. By default choices that together select every such client,
            of which there may be N / K.

    Returns:
        r*, H(r*), the gap, and the mixture of greedy choices that achieves r*.

    Raises:
        ValueError: If p are no shares of the oracle's clients, or a client with p_k > 0 is never
            available, so that H is infinite.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.rate_region import IndependentOracle, optimal_rates
        >>> oracle = IndependentOracle(np.array([0.3, 1.0, 1.0]), k=1)
        >>> found = optimal_rates(np.array([0.5, 0.3, 0.2]), "p_squared", oracle)
        >>> found.rates.round(2).tolist()  # Client 0 whenever it is available.
        [0.3, 0.42, 0.28]
    """
    p = np.asarray(p, np.float64)
    check_client_shares(p)
    if len(p) != oracle.num_clients:
        raise ValueError(f"{len(p)} shares p for an oracle of {oracle.num_clients} clients")
    c = np.asarray(numerators(p, objective))
    return minimise(
        _VarianceBound(c),
        oracle,
        _covering_start(c, oracle) if point is None else [],
        relative=tolerance,
        max_steps=max_steps,
        with_policy=with_policy,
        point=point,
    )


def greedy_policy(minimum: Minimum) -> GreedyMixture:
    """Returns the static policy that achieves the rates of a minimum, for Algorithm 2.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import IndependentOracle, greedy_policy, optimal_rates
        >>> p, oracle = np.array([0.75, 0.25]), IndependentOracle(np.ones(2), k=1)
        >>> policy = greedy_policy(optimal_rates(p, "p_squared", oracle))
        >>> first = policy.utilities.argmax(axis=1)  # Of each order.
        >>> np.bincount(first, policy.chances).round(2).tolist()
        [0.75, 0.25]
    """
    return GreedyMixture(minimum.utilities, minimum.chances)


def policy_for(
    target: np.ndarray, oracle: RegionOracle, *, tolerance: float = 1e-6, max_steps: int = 20_000
) -> GreedyMixture:
    """Returns a static policy that achieves given rates.

    Args:
        target: r, `float [N]` in [0, 1].
        oracle: The region.
        tolerance: Largest Euclidean distance of the achieved rates from the target.
        max_steps: Largest number of steps.

    Raises:
        ValueError: If the target is outside the region, or not reached in `max_steps`.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.rate_region import IndependentOracle, policy_for
        >>> oracle = IndependentOracle(np.array([0.5, 1.0]), k=1)
        >>> policy = policy_for(np.array([0.25, 0.75]), oracle)
        >>> first = policy.utilities.argmax(axis=1)  # Of each order.
        >>> np.bincount(first, policy.chances).round(2).tolist()
        [0.5, 0.5]
    """
    target = np.asarray(target, np.float64)
    found = minimise(
        _Distance(target),
        oracle,
        [np.maximum(target, _TINY_RATE)],
        absolute=tolerance**2 / 4,
        max_steps=max_steps,
    )
    distance = float(np.sqrt(2 * found.value))
    if distance > tolerance:
        raise ValueError(
            f"the nearest rates found are {distance:.3g} away from the target: it is outside the "
            "region, or takes more steps"
        )
    return greedy_policy(found)


def monte_carlo_error(
    p: np.ndarray,
    objective: str,
    minimum: Minimum,
    states: AvailabilityStates,
    *,
    batches: int = 20,
) -> float:
    """Returns the standard error of H(r*) due to the sampling of states.

    To first order, a state contributes minus the utility of its greedy choice to H at the optimum
    (envelope theorem). States count as successive rounds of a process. Means over batches of states
    are treated as independent, which allows for correlation shorter than a batch.

    Args:
        p: Client shares p_k, `float [N]`.
        objective: `"p_squared"` or `"p"`.
        minimum: r* over `states`.
        states: Sampled states, at least two per batch.
        batches: Number of batches, at least 2.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import rate_region as region
        >>> from f3ast_tff.availability import IndependentAvailability
        >>> process = IndependentAvailability(np.array([0.5, 0.9]), seed=0)
        >>> states = region.sampled_states((process.mask(t) for t in range(1, 1001)), k=1)
        >>> p = np.array([0.5, 0.5])
        >>> found = region.optimal_rates(p, "p", region.StatesOracle(states))
        >>> error = region.monte_carlo_error(p, "p", found, states)
        >>> round(found.value, 2), round(error, 2)
        (2.11, 0.01)
    """
    if batches < 2 or len(states.masks) < 2 * batches:
        raise ValueError(f"{len(states.masks)} states in {batches} batches: too few")
    utility = _VarianceBound(numerators(np.asarray(p, np.float64), objective)).utility(
        minimum.rates
    )
    worth = greedy_selections(states, utility) @ utility
    means = np.array([batch.mean() for batch in np.array_split(worth, batches)])
    return float(means.std(ddof=1) / np.sqrt(batches))


def _covering_start(c: np.ndarray, oracle: RegionOracle) -> list[np.ndarray]:
    """Utilities of greedy choices that together select every client that matters."""
    start: list[np.ndarray] = []
    total, missing = np.zeros(len(c)), c > 0
    while missing.any():
        start.append(c / np.square(np.maximum(total / max(len(start), 1), _TINY_RATE)))
        start[-1][missing] = c[missing] * (start[-1].max() + 1) / c[missing].min()
        rates = oracle.best(start[-1])
        total += rates
        covered = missing & (rates > _FAIR_SHARE * rates.mean())
        if not covered.any():
            # The first client in the order is selected whenever it is available.
            first = int(np.argmax(np.where(missing, c, 0)))
            if rates[first] <= 0:
                raise ValueError(f"client {first} is never available: H is infinite")
            covered[first] = True
        missing &= ~covered
    return start
