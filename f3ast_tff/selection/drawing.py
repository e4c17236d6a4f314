"""Drawing clients: proportional to a weight, and greedily by utility."""

from __future__ import annotations

import numpy as np


def proportional(
    candidates: np.ndarray,
    weights: np.ndarray,
    k: int,
    rng: np.random.Generator,
    *,
    replace: bool = False,
) -> np.ndarray:
    """Draws clients with probability proportional to their weight.

    Args:
        candidates: Client ids to draw from, `int [m]`.
        weights: Weight of every client, at least 0, `float [N]`; 0 is never drawn.
        k: Draws wanted, at least 1.
        rng: Source of randomness.
        replace: Whether a client can be drawn again. Without replacement, draws are successive
            (each proportional among those left) and at most `m` are made.

    Returns:
        Ids in order of the draws, `int64`; empty if there are no candidates.
    """
    candidates = candidates[weights[candidates] > 0]
    if len(candidates) == 0:
        return np.zeros(0, np.int64)
    chance = weights[candidates] / weights[candidates].sum()
    size = k if replace else min(k, len(candidates))
    return rng.choice(candidates, size=size, replace=replace, p=chance).astype(np.int64)


def greedy(
    candidates: np.ndarray,
    utility: np.ndarray,
    k: int,
    rng: np.random.Generator | None,
) -> np.ndarray:
    """Picks the candidates of largest utility; exact for eq. (4), whose objective is additive.

    Args:
        candidates: Client ids, `int [m]`.
        utility: Utility of every client, `float [N]`.
        k: How many to pick; fewer if there are fewer candidates.
        rng: Breaks ties uniformly; `None` lets the lowest id win.

    Returns:
        Picked ids, best first, `int64`.
    """
    tie_break = candidates if rng is None else rng.permutation(len(candidates))
    best_first = np.lexsort((tie_break, -utility[candidates]))
    return np.asarray(candidates, np.int64)[best_first[:k]]
