"""Hall's correction of Student's t for the skewness of the values that it is of.

With n values of mean m, standard error s and skewness g, T = (m - mu) / s is skewed by about
-2 g / sqrt(n). With c = g / (3 sqrt(n)) the cubic h(T) = T + c T^2 + c^2 T^3 / 3 + c / 2 takes that
away, and it rises everywhere: 1 + 3 c (h - c / 2) = (1 + c T)^3 (Hall, "On the removal of skewness
by transformation", 1992). Here h(T) is compared with Student's t, not with the normal law that Hall
has, for n is small.
"""

from __future__ import annotations

import math

import numpy as np

# Beyond this cubes overflow.
_MOST = 1e90


def skewness(values: np.ndarray, weights: np.ndarray) -> float:
    """Returns the skewness of values, corrected for their number.

    G = sqrt(n (n - 1)) / (n - 2) * sum w d^3 / (sum w d^2)^(3/2), d the distances to the mean.

    Args:
        values: Shape [n], finite.
        weights: Shape [n], of sum 1.

    Returns:
        G; 0 for fewer than 3 values or equal ones, which have none.
    """
    n = len(values)
    distances = values - weights @ values
    largest = float(np.abs(distances).max(initial=0.0))
    if n < 3 or largest == 0:
        return 0.0
    distances = distances / largest
    second, third = (float(weights @ distances**power) for power in (2, 3))
    return math.sqrt(n * (n - 1)) / (n - 2) * third / second**1.5


def corrected(t: np.ndarray | float, g: np.ndarray | float, n: int) -> np.ndarray:
    """Returns h(T) for statistics `t` of `n` values of skewness `g`, shapes broadcast."""
    t = np.clip(t, -_MOST, _MOST)
    c = np.asarray(g) / (3 * math.sqrt(n))
    return t * (1 + c * t + (c * t) ** 2 / 3) + c / 2


def uncorrected(h: np.ndarray | float, g: np.ndarray | float, n: int) -> np.ndarray:
    """Returns the T of which `corrected` is `h`, shapes broadcast."""
    c = np.asarray(g) / (3 * math.sqrt(n))
    straight = np.abs(c) < 1e-8
    safe = np.where(straight, 1.0, c)
    return np.where(straight, h, (np.cbrt(1 + 3 * safe * (h - safe / 2)) - 1) / safe)
