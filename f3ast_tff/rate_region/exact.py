"""The exact rate region of a small system: linear programs over all feasible subsets.

Variables are x_{C,S} = pi(C) f_{C,S} of Definition III.1, for every configuration C and feasible
subset S; rates are linear in them (eq. 2). SciPy's HiGHS solves the programs.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from f3ast_tff.core.policies import TabularPolicy
from f3ast_tff.rate_region.oracle import AvailabilityStates

_MAX_VARIABLES = 50_000
_SOLVER_TOLERANCE = 1e-7


@dataclass(frozen=True)
class Configurations:
    """A stationary distribution over configurations, each a list of feasible subsets.

    Attributes:
        masks: Available clients of each configuration, `bool [M, N]`.
        k: K of each configuration, `int [M]`; no two configurations share both mask and K.
        chances: pi(C), `float64 [M]`, of sum 1.
        subsets: Feasible sets of each configuration, `bool [n_C, N]`, at least one.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.rate_region import configurations, independent_states
        >>> system = configurations(independent_states(np.array([0.5, 1.0]), k=1))
        >>> system.masks.astype(int).tolist(), system.chances.tolist()
        ([[0, 1], [1, 1]], [0.5, 0.5])
        >>> [subsets.astype(int).tolist() for subsets in system.subsets]
        [[[0, 0], [0, 1]], [[0, 0], [1, 0], [0, 1]]]
    """

    masks: np.ndarray
    k: np.ndarray
    chances: np.ndarray
    subsets: tuple[np.ndarray, ...]

    @property
    def num_clients(self) -> int:
        """Number of clients N."""
        return self.masks.shape[1]


def configurations(states: AvailabilityStates) -> Configurations:
    """Returns the states with all sets of at most K available clients, including the empty set.

    Raises:
        ValueError: If there are more than 50,000 sets.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.rate_region import configurations, independent_states
        >>> system = configurations(independent_states(np.full(3, 0.5), k=2))
        >>> system.masks[-1].tolist(), len(system.subsets[-1])  # 2^3 - 1
        ([True, True, True], 7)
    """
    size = sum(
        math.comb(int(n), j)
        for n, k in zip(states.masks.sum(axis=1), states.k)
        for j in range(min(int(n), int(k)) + 1)
    )
    if size > _MAX_VARIABLES:
        raise ValueError(f"{size} feasible subsets: at most {_MAX_VARIABLES} can be handled")
    both = np.column_stack([states.masks, states.k])
    distinct, place = np.unique(both, axis=0, return_inverse=True)
    masks, k = distinct[:, :-1].astype(bool), distinct[:, -1]
    chances = np.bincount(place.reshape(-1), states.chances)
    subsets = tuple(_subsets(mask, int(most)) for mask, most in zip(masks, k))
    return Configurations(masks, k, chances, subsets)


def _subsets(mask: np.ndarray, k: int) -> np.ndarray:
    ids = np.flatnonzero(mask)
    sizes = range(min(k, len(ids)) + 1)
    chosen = [c for size in sizes for c in itertools.combinations(ids.tolist(), size)]
    subsets = np.zeros((len(chosen), len(mask)), bool)
    for row, members in zip(subsets, chosen):
        row[list(members)] = True
    return subsets


def reach(r: np.ndarray, system: Configurations) -> float:
    """Returns the largest t for which t r is achievable; r is in the region if t is at least 1.

    Args:
        r: Rates, `float [N]`, at least 0, not all 0.
        system: The configurations; the empty set must be feasible in each, so that all rates below
            achievable rates are achievable too.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.rate_region import configurations, independent_states, reach
        >>> system = configurations(independent_states(np.array([0.5, 0.5]), k=1))
        >>> round(reach(np.array([0.5, 0.5]), system), 3)  # Below 1: not achievable.
        0.75
    """
    r = np.asarray(r, np.float64)
    if not np.all(r >= 0) or not np.any(r > 0):
        raise ValueError("rates must be at least 0 and not all 0")
    return float(_along(r, system)[0])


def policy_achieving(r: np.ndarray, system: Configurations) -> TabularPolicy:
    """Returns a static policy f^r of long-term rate r, for Algorithm 2.

    Raises:
        ValueError: If r is outside the region by more than the solver's tolerance.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import rate_region as region
        >>> states = region.independent_states(np.array([0.5, 1.0]), k=1)
        >>> system = region.configurations(states)
        >>> policy = region.policy_achieving(np.array([0.25, 0.75]), system)
        >>> policy.subsets[1].astype(int).tolist(), policy.chances[1].round(2).tolist()
        ([[0, 0], [1, 0], [0, 1]], [0.0, 0.5, 0.5])
    """
    r = np.asarray(r, np.float64)
    if not np.any(r > 0):
        raise ValueError("rates must not all be 0")
    t, *x = _along(r, system)
    if t < 1 - _SOLVER_TOLERANCE:
        raise ValueError(f"rates {r} are not achievable; {t:.6g} times them are")
    # At t > 1 the policy exceeds r, so the empty set takes the rest.
    ends = np.cumsum(list(map(len, system.subsets)))
    shares = np.split(np.array(x) / max(t, 1.0), ends[:-1])
    chances = []
    for share, pi, subsets in zip(shares, system.chances, system.subsets):
        # A configuration that never comes selects nobody.
        chance = np.clip(share / pi, 0, 1) if pi > 0 else np.zeros(len(share))
        empty = np.flatnonzero(~subsets.any(axis=1))
        chance[empty[0]] += 1 - chance.sum()
        chances.append(np.clip(chance, 0, 1) / np.clip(chance, 0, 1).sum())
    return TabularPolicy(system.masks, system.k, system.subsets, tuple(chances))


class LinearProgramOracle:
    """The linear oracle of `rate_region.oracle` by linear programming, for any feasible sets.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import rate_region as region
        >>> states = region.independent_states(np.array([0.5, 0.8]), k=1)
        >>> oracle = region.LinearProgramOracle(region.configurations(states))
        >>> oracle.best(np.array([1.0, 2.0])).round(3).tolist()
        [0.1, 0.8]
    """

    def __init__(self, system: Configurations) -> None:
        """Keeps the configurations."""
        self.num_clients = system.num_clients
        self._system = system
        self._subsets = np.concatenate(system.subsets)

    def best(self, utility: np.ndarray) -> np.ndarray:
        scale = max(float(np.max(np.abs(utility))), np.finfo(float).tiny)
        solution = _solve(self._subsets @ (utility / scale), self._system, None)
        return solution @ self._subsets


def _along(r: np.ndarray, system: Configurations) -> np.ndarray:
    """Returns the largest t and its x; eq. (2): t r - sum x 1_S = 0."""
    size = sum(map(len, system.subsets))
    return _solve(np.append(1.0, np.zeros(size)), system, -r)


def _solve(worth: np.ndarray, system: Configurations, ray: np.ndarray | None) -> np.ndarray:
    """Maximises worth . variables; with a ray, the first variable is t, before the x."""
    from scipy.optimize import linprog  # type: ignore[import-untyped]

    configuration = np.repeat(np.arange(len(system.subsets)), list(map(len, system.subsets)))
    rows = (configuration == np.arange(len(system.subsets))[:, None]).astype(float)
    right = system.chances
    if ray is not None:
        members = np.concatenate(system.subsets).T.astype(float)
        rows = np.vstack([rows, members])
        rows = np.column_stack([np.append(np.zeros(len(right)), ray), rows])
        right = np.append(right, np.zeros(len(ray)))
    result = linprog(-worth, A_eq=rows, b_eq=right, method="highs")
    if result.status != 0:
        raise RuntimeError(f"linear program not solved: {result.message}")
    return np.asarray(result.x)
