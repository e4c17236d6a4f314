"""Intervals of the mean of a few values: the interval used here, and those it was tried against.

The interval of `PairedDifference` is our own, the stretched t (`reach`). The others are Student's
t; Johnson's modified t ("Modified t tests and confidence intervals for asymmetrical populations",
1978); Hall's cubic ("On the removal of skewness by transformation", 1992); the bootstrap-t and the
BCa bootstrap (Efron and Tibshirani, "An introduction to the bootstrap", 1993); and the sign-flip
test inverted (Hartigan, "Using subsample values as typical values", 1969).
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from f3ast_tff.analysis.compare.paired_difference import reach
from f3ast_tff.core.randomness import generator

# The method of `PairedDifference`.
CHOSEN = "stretched t"
METHODS = (CHOSEN, "t", "Johnson", "Hall", "bootstrap-t", "BCa", "sign flips")

# Lower and upper ends, shape [studies].
Ends = tuple[np.ndarray, np.ndarray]


def ends(method: str, values: np.ndarray, level: float, resamples: int) -> Ends:
    """Returns the ends of the intervals of studies.

    Args:
        method: One of `METHODS`.
        values: Differences, shape [studies, draws], at least 3 draws.
        level: Level of the intervals, in (0, 1).
        resamples: Number of resamples of both bootstraps.
    """
    if method == "sign flips":
        return _sign_flips(values, level)
    if method == "BCa":
        return _bca(values, level, resamples)
    n = values.shape[1]
    mean, error = _estimates(values)
    quantile = float(special.stdtrit(n - 1, (1 + level) / 2))
    # Statistics (mean - mu) / error at the lower and the upper end.
    lower, upper = np.full_like(mean, quantile), np.full_like(mean, -quantile)
    if method == "bootstrap-t":
        lower, upper = _bootstrap(values, level, resamples)
    elif method == "Johnson":
        shift = _skewness(values) / (6 * math.sqrt(n))
        lower, upper = lower - shift, upper - shift
    elif method == "Hall":
        lower, upper = (_hall(q, _skewness(values), n) for q in (quantile, -quantile))
    elif method == CHOSEN:
        g = _skewness(values)
        lower, upper = reach(level, -g, n), -reach(level, g, n)
    return mean - lower * error, mean - upper * error


def _estimates(values: np.ndarray) -> Ends:
    return values.mean(-1), values.std(-1, ddof=1) / math.sqrt(values.shape[-1])


def _skewness(values: np.ndarray) -> np.ndarray:
    """`skewness.skewness` of each study, with equal weights."""
    n = values.shape[1]
    distances = values - values.mean(1, keepdims=True)
    second, third = ((distances**power).mean(1) for power in (2, 3))
    scaled = third / np.where(second > 0, second, 1.0) ** 1.5
    return math.sqrt(n * (n - 1)) / (n - 2) * scaled


def _hall(h: float, g: np.ndarray, n: int) -> np.ndarray:
    """The T at which Hall's cubic equals `h`.

    The cubic is T + c T^2 + c^2 T^3 / 3 + c / 2 with c = g / (3 sqrt(n)).
    """
    c = np.where(g == 0, 1e-9, g) / (3 * math.sqrt(n))
    return (np.cbrt(1 + 3 * c * (h - c / 2)) - 1) / c


def _bootstrap(values: np.ndarray, level: float, resamples: int) -> Ends:
    """Quantiles of T over resamples of each study; a resample of equal values counts as 0."""
    n = values.shape[1]
    picks = generator(0, "bootstrap-t", n).integers(n, size=(resamples, n))
    quantiles = []
    for study in values:
        mean, error = _estimates(study[picks])
        t = np.where(error > 0, (mean - study.mean()) / np.where(error > 0, error, 1.0), 0.0)
        quantiles.append(np.quantile(t, [(1 + level) / 2, (1 - level) / 2]))
    lower, upper = np.array(quantiles).T
    return lower, upper


def _bca(values: np.ndarray, level: float, resamples: int) -> Ends:
    """Quantiles of resampled means, at levels corrected for bias and skewness."""
    n = values.shape[1]
    picks = generator(0, "BCa", n).integers(n, size=(resamples, n))
    counts = (picks[:, :, None] == np.arange(n)).sum(1)
    means = np.sort(values @ (counts / n).T, axis=1)
    mean = values.mean(1)
    distances = values - mean[:, None]
    second, third = ((distances**power).sum(1) for power in (2, 3))
    # A resample of the same values in another order has the same mean, except for rounding.
    slack = 1e-9 * np.sqrt(second)
    below, up_to = ((means < (mean + side * slack)[:, None]).mean(1) for side in (-1, 1))
    bias = special.ndtri(np.clip((below + up_to) / 2, 1 / resamples, 1 - 1 / resamples))
    acceleration = third / (6 * np.where(second > 0, second, 1.0) ** 1.5)
    found = []
    for p in ((1 - level) / 2, (1 + level) / 2):
        moved = bias + special.ndtri(p)
        place = special.ndtr(bias + moved / (1 - acceleration * moved)) * (resamples - 1)
        first = np.minimum(place.astype(int), resamples - 2)
        low, high = (
            np.take_along_axis(means, each[:, None], 1)[:, 0] for each in (first, first + 1)
        )
        found.append(low + (place - first) * (high - low))
    return found[0], found[1]


def _sign_flips(values: np.ndarray, level: float) -> Ends:
    """The values that the exact sign-flip test of the mean does not reject.

    Flipping the signs of d_i - mu in a subset lowers the sum exactly if mu is below the subset's
    mean, so the ends are order statistics of the means of all subsets. With few draws no value is
    rejected.
    """
    n = values.shape[1]
    subsets = (np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1
    rank = int((1 - level) / 2 * 2**n)
    if rank == 0:
        everything = np.full(len(values), np.inf)
        return -everything, everything
    means = np.sort(values @ (subsets / subsets.sum(1, keepdims=True)).T, axis=1)
    return means[:, rank - 1], means[:, -rank]
