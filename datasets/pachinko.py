"""Pachinko allocation of labelled examples to clients (Reddi et al. 2020, on CIFAR-100).

Each client draws a distribution over the coarse classes from Dirichlet(alpha). For each coarse
class it draws a distribution over the fine classes from Dirichlet(beta). Both are symmetric. Then
the client draws its examples one by one: a coarse class, a fine class within it, and a remaining
example of that fine class. When a fine class is used up, its distribution is renormalised without
it; likewise a coarse class, once all its fine classes are used up.
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
    """Shares all examples out; every client gets the same number.

    Args:
        fine: Fine class of each example, `int [n]`.
        coarse: Coarse class of each example, `int [n]`; a fine class lies in one coarse class.
        num_clients: Number of clients; must divide n.
        alpha: Concentration over coarse classes, positive.
        beta: Concentration over the fine classes of a coarse class, positive.
        rng: Source of the draws.
        advance: Called with 1 when a client is done.

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
    """Returns the running sum of the shares exp(logs); a name with an empty stock has share 0.

    The shares are not normalised. If every stock is empty, so is the list.
    """
    left = np.array([bool(stock[name]) for name in names])
    if not left.any():
        return []
    shares = np.where(left, np.exp(np.minimum(logs - logs[left].max(), 0)), 0)
    return np.cumsum(shares).tolist()


def _draw(cumulative: list[float], uniform: float) -> int:
    """Returns the index of the share that `uniform` in [0, 1) falls into."""
    return bisect.bisect_right(cumulative, uniform * cumulative[-1])
