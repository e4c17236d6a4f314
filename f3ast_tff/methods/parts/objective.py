"""H(r), the sampling-variance bound that F3AST minimises, and its gradient (eq. 3)."""

from __future__ import annotations

import numpy as np

OBJECTIVES = ("p_squared", "p")


def numerators(p: np.ndarray, objective: str) -> np.ndarray:
    """Returns c_k in H(r) = sum_k c_k / r_k.

    Args:
        p: Client shares p_k, `float [N]`.
        objective: `"p_squared"` for availability that is not positively correlated (c = p^2),
            `"p"` for positively correlated or unknown (c = p); eq. (3).
    """
    if objective not in OBJECTIVES:
        raise ValueError(f"objective {objective!r}: must be one of {', '.join(OBJECTIVES)}")
    return p**2 if objective == "p_squared" else p


def root_numerators(p: np.ndarray, objective: str) -> np.ndarray:
    """Returns sqrt(c_k), `float [N]`: p_k itself for `"p_squared"`, sqrt(p_k) for `"p"`."""
    numerators(p[:0], objective)  # Refuses an unknown objective.
    return p if objective == "p_squared" else np.sqrt(p)


def variance_bound(r: np.ndarray, p: np.ndarray, objective: str) -> float:
    """Returns H(r), eq. (3); `r` and `p` are `float [N]`, r in (0, 1].

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import variance_bound
        >>> p = np.array([0.6, 0.3, 0.1])
        >>> [round(variance_bound(r, p, "p_squared"), 3) for r in (np.full(3, 1 / 3), p)]
        [1.38, 1.0]
    """
    return float(np.sum(numerators(p, objective) / r))


def best_if_all_available(p: np.ndarray, k: float, objective: str) -> tuple[np.ndarray, float]:
    """Returns the r of least H(r) where all clients are always available and K of them train.

    Rates then are any r of (0, 1]^N whose sum is K, and the least H is at
    r_k = min(1, s sqrt(c_k)), s such that the sum is K: in proportion to p for `"p_squared"`, to
    sqrt(p) for `"p"`.

    Args:
        p: Client shares, `float [N]`, each above 0.
        k: K, above 0; with N or more every rate is 1.
        objective: See `numerators`.

    Returns:
        r / s, `float64 [N]`, in which clients that tie do so exactly, and s.
    """
    root = root_numerators(np.asarray(p, np.float64), objective)
    if k >= len(p):
        return np.ones(len(p)), 1.0
    # With the m largest at 1 the others share K - m. The least m that leaves none above 1 is right.
    largest = np.sort(root)[::-1]
    scales = (k - np.arange(len(p))) / np.cumsum(largest[::-1])[::-1]
    scale = float(scales[np.argmax(scales * largest <= 1)])
    return np.minimum(root, 1 / scale), scale


def marginal_utility(r: np.ndarray, p: np.ndarray, objective: str) -> np.ndarray:
    """Returns -dH/dr_k = c_k / r_k^2, what selecting client k is worth (eq. 4); `float [N]`.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import marginal_utility
        >>> p, rates = np.array([0.5, 0.3, 0.2]), np.array([0.5, 0.1, 0.2])
        >>> marginal_utility(rates, p, "p_squared").round(3).tolist()
        [1.0, 9.0, 1.0]
    """
    return np.square(ranking(r, root_numerators(p, objective)))


def ranking(r: np.ndarray, roots: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Returns sqrt(c_k) / r_k, which orders clients as `marginal_utility` does.

    Clients of equal -dH/dr_k are equal here too: at rates in proportion to `roots`, where H is
    least, all have 1 exactly. Of c_k / r_k^2 rounding would leave an order of its own.

    Args:
        r: Rates up to a common factor, `float64 [N]`, above 0.
        roots: `root_numerators`.
        out: Where to write it, `float64 [N]`, in place of a new array.
    """
    return np.divide(roots, r, out=out)
