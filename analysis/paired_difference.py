"""The difference of two methods over the seeds that both ran, with its interval."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import stats  # type: ignore[import-untyped]


@dataclass(frozen=True)
class PairedDifference:
    """a minus b, seed by seed.

    Attributes:
        mean: Of the differences.
        low: Lower end of the t interval around the mean.
        high: Its upper end.
        p_value: Of the two-sided paired t test of a mean difference of 0, in [0, 1].
        num_seeds: Seeds that both have, at least 2.
    """

    mean: float
    low: float
    high: float
    p_value: float
    num_seeds: int


def paired_difference(
    a: Mapping[int, float], b: Mapping[int, float], confidence: float = 0.95
) -> PairedDifference:
    """Compares two methods that saw the same availability draws, those of their common seeds.

    Differences that are all equal have an interval of no width; its p value is 1 if they are 0 and
    0 otherwise. A common value that is not finite (training diverged) makes all four numbers NaN.

    Args:
        a: Score by seed of the one method.
        b: Score by seed of the other. Seeds that only one has are left out.
        confidence: Level of the interval, in (0, 1).

    Returns:
        The mean difference with its interval and test, those of Student's t with n - 1 degrees of
        freedom.

    Raises:
        ValueError: If fewer than 2 seeds are common, or `confidence` is not in (0, 1).
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}; it must be between 0 and 1")
    seeds = sorted(a.keys() & b.keys())
    n = len(seeds)
    if n < 2:
        raise ValueError(f"{n} common seeds; a paired difference needs at least 2")
    values = np.array([[a[seed], b[seed]] for seed in seeds], dtype=np.float64)
    if not np.isfinite(values).all():
        return PairedDifference(math.nan, math.nan, math.nan, math.nan, n)
    differences = values[:, 0] - values[:, 1]
    mean = float(differences.mean())
    if np.ptp(differences) == 0:
        return PairedDifference(mean, mean, mean, 1.0 if mean == 0 else 0.0, n)
    low, high = stats.t.interval(confidence, n - 1, loc=mean, scale=stats.sem(differences))
    p_value = stats.ttest_1samp(differences, 0).pvalue
    return PairedDifference(mean, float(low), float(high), float(p_value), n)
