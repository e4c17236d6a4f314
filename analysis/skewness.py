"""Student's t intervals whose one end is stretched for skewness.

Of n values with mean m, standard error s and skewness g, T = (m - mu) / s has the quantile
q - g (2 q^2 + 1) / (6 sqrt(n)) to first order, q that of a symmetric law (Johnson, "Modified t
tests and confidence intervals for asymmetrical populations", 1978). So the end of an interval on
the side of the longer tail belongs farther away, by |g| (2 q^2 + 1) / (6 sqrt(n)) standard errors;
it is put there. The other end belongs closer, and is left where Student's t has it.

The skewness of a dozen values is on average 0.5 to 0.6 of that of a skewed law that they come from.
It is therefore taken `FACTOR` times: chosen by simulation (`interval_coverage.py`).
"""

from __future__ import annotations

import math

import numpy as np

FACTOR = 2.0


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


def reach(quantile: float, tail: np.ndarray, n: int) -> np.ndarray:
    """Returns how many standard errors an end lies away from the mean.

    Args:
        quantile: Of Student's t, above 0.
        tail: Skewness towards that end: g for the upper end, -g for the lower one.
        n: Number of values.
    """
    return quantile + _stretch(tail, n) * (2 * quantile**2 + 1)


def quantile_of(distance: float, tail: float, n: int) -> float:
    """Returns the quantile of which `reach` is `distance`; at most 0 where there is none above 0.

    It solves 2 k q^2 + q + k = distance, k the stretch.
    """
    k = float(_stretch(np.asarray(tail), n))
    beyond = distance - k
    if beyond <= 0:
        return min(distance, 0.0)
    return 2 * beyond / (1 + math.sqrt(1 + 8 * k * beyond))


def _stretch(tail: np.ndarray, n: int) -> np.ndarray:
    return FACTOR * np.maximum(tail, 0.0) / (6 * math.sqrt(n))
