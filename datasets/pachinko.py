"""Pachinko allocation of labelled examples to clients (Reddi et al. 2020, on CIFAR-100).

Each client draws a distribution over the coarse classes from Dirichlet(alpha) and, within each
coarse class, one over its fine classes from Dirichlet(beta), both symmetric. Its examples are
drawn one after the other: a coarse class, a fine class within it, an example of that class that
nobody has yet. A fine class that is used up leaves its distribution, which is renormalised, and
so does a coarse class with all of its fine ones.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence

import numpy as np

from .dirichlet import log_dirichlet


def pachinko(
    fine: np.ndarray,
    coarse: np.ndarray,
    num_clients: int,
    alpha: float,
    beta: float,
    rng: np.random.Generator,
    advance: Callable[[int], object] = lambda clients: None,
) -> np.ndarray:
    """Shares all examples out, to each client as many.

    Args:
        fine: Fine class of each example, `int [n]`.
        coarse: Coarse class of each example, `int [n]`; a fine class lies in one coarse class.
        num_clients: Number of clients; must divide n.
        alpha: Concentration over coarse classes, positive.
        beta: Concentration over the fine classes of a coarse one, positive.
        rng: Source of the draws.
        advance: Told each time that a client is done.

    Returns:
        The examples of each client in the order they were drawn, `int64 [num_clients, n /
        num_clients]`; every example once.
    """
    unused = [rng.permutation(np.flatnonzero(fine == f)).tolist() for f in range(fine.max() + 1)]
    children = [np.unique(fine[coarse == c]).tolist() for c in range(coarse.max() + 1)]
    rows = np.empty((num_clients, len(fine) // num_clients), np.int64)
    for mine in rows:
        logs_of_coarse = log_dirichlet(alpha, (len(children),), rng)
        logs_of_fine = [log_dirichlet(beta, (len(inside),), rng) for inside in children]
        over_fine = [
            _cumulative(logs_of_fine[c], children[c], unused) for c in range(len(children))
        ]
        over_coarse = _cumulative(logs_of_coarse, range(len(children)), over_fine)
        for place, (u, v) in enumerate(rng.random((len(mine), 2))):
            c = _draw(over_coarse, u)
            f = children[c][_draw(over_fine[c], v)]
            mine[place] = unused[f].pop()
            if not unused[f]:
                over_fine[c] = _cumulative(logs_of_fine[c], children[c], unused)
                over_coarse = _cumulative(logs_of_coarse, range(len(children)), over_fine)
        advance(1)
    return rows


def _cumulative(
    logs: np.ndarray, names: Sequence[int], stock: Sequence[Sequence[object]]
) -> list[float]:
    """Returns the running sum of the shares exp(logs), 0 where a name's stock is empty.

    The shares have any common factor; the list is empty if every stock is.
    """
    left = np.array([bool(stock[name]) for name in names])
    if not left.any():
        return []
    shares = np.where(left, np.exp(np.minimum(logs - logs[left].max(), 0)), 0)
    return np.cumsum(shares).tolist()


def _draw(cumulative: list[float], uniform: float) -> int:
    """Returns the index of a share drawn by a number in [0, 1)."""
    return bisect.bisect_right(cumulative, uniform * cumulative[-1])
