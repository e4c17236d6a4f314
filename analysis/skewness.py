"""Student's t intervals whose one end is stretched for skewness.

The mean m of n values of skewness g has, in standard errors, the quantile z + g (2 z^2 + 1) / (6
sqrt(n)) beside mu to first order, z that of the normal law (Johnson, "Modified t tests and
confidence intervals for asymmetrical populations", 1978). So the end of an interval on the side of
the longer tail belongs farther away by |g| (2 z^2 + 1) / (6 sqrt(n)) standard errors, and is put
there. The other end belongs closer, and is left where Student's t has it.

The skewness of a dozen values is on average 0.5 to 0.6 of that of a skewed law that they come from,
and what is left out above adds to it. It is therefore taken `FACTOR` times: chosen here, by
simulation (`interval_coverage.py`).
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special  # type: ignore[import-untyped]

FACTOR = 2.5
# Beyond this a normal tail underflows.
_MOST = 37.0


def skewness(values: np.ndarray, weights: np.ndarray) -> float:
    """Returns the skewness of values, corrected for their number.

    g = sqrt(n (n - 1)) / (n - 2) * sum w d^3 / (sum w d^2)^(3/2), d the distances to the mean.

    Args:
        values: Shape [n], finite.
        weights: Shape [n], of sum 1.

    Returns:
        g; 0 for fewer than 3 values or equal ones, which have none.
    """
    n = len(values)
    distances = values - weights @ values
    largest = float(np.abs(distances).max(initial=0.0))
    if n < 3 or largest == 0:
        return 0.0
    distances = distances / largest
    second, third = (float(weights @ distances**power) for power in (2, 3))
    return math.sqrt(n * (n - 1)) / (n - 2) * third / second**1.5


def reach(confidence: float, tail: np.ndarray, n: int) -> np.ndarray:
    """Returns how many standard errors an end of an interval lies away from the mean.

    Args:
        confidence: Of the interval with both ends, in (0, 1).
        tail: Skewness towards that end: g for the upper end, -g for the lower one.
        n: Number of values, at least 2.
    """
    p = (1 - confidence) / 2
    return -special.stdtrit(n - 1, p) + _stretch(tail, n) * (2 * special.ndtri(p) ** 2 + 1)


def one_sided_p(distance: float, tail: float, n: int) -> float:
    """Returns the p value p of a value that far from the mean, `reach` of 1 - 2 p.

    Args:
        distance: Of the mean beyond the value, in standard errors.
        tail: Skewness towards the value.
        n: Number of values, at least 2.
    """
    stretch = float(_stretch(np.asarray(tail), n))
    of_t = float(special.stdtr(n - 1, -distance))
    if stretch == 0 or distance <= 0:
        return of_t
    # p of the normal quantile z: it falls with z, and is above Student's.
    low, high = 0.0, min(-float(special.ndtri(of_t)), _MOST)
    for _ in range(45):
        middle = (low + high) / 2
        p = special.ndtr(-middle)
        beyond = -special.stdtrit(n - 1, p) + stretch * (2 * middle**2 + 1) > distance
        low, high = (low, middle) if beyond else (middle, high)
    return float(special.ndtr(-low))


def _stretch(tail: np.ndarray, n: int) -> np.ndarray:
    return FACTOR * np.maximum(tail, 0.0) / (6 * math.sqrt(n))
