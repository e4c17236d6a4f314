"""The difference of two methods over the pairs (data draw, seed) that both ran, with its interval.

Runs on one draw of the data share what that draw does to a method, so seeds of one draw are no
sample of the draws. The model has two levels: d_ij = mu + a_i + e_ij for draw i and seed j, with
a_i ~ (0, tau^2) between draws and e_ij ~ (0, sigma^2) within one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from f3ast_tff.analysis.run_groups import Pair


@dataclass(frozen=True)
class PairedDifference:
    """a minus b over common pairs; all numbers are NaN if a score is not finite.

    Attributes:
        mean: Estimate of mu.
        standard_error: Of `mean`; 0 if all differences are equal.
        num_pairs: Pairs that both have, at least 2.
        num_draws: Draws of the data among them.
        confidence: Level of `low` and `high`, in (0, 1).
    """

    mean: float
    standard_error: float
    num_pairs: int
    num_draws: int
    confidence: float = 0.95

    @property
    def degrees(self) -> int:
        """Degrees of freedom of Student's t: draws - 1; with one draw, seeds - 1."""
        return (self.num_draws if self.num_draws > 1 else self.num_pairs) - 1

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.interval(self.confidence)[0]

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.interval(self.confidence)[1]

    @property
    def p_value(self) -> float:
        """Of the two-sided test of mu = 0, in [0, 1]."""
        return self.p_of(0.0)

    @property
    def covers(self) -> str:
        """The population that interval and test cover."""
        if self.num_draws > 1:
            return f"draws of the data, {self.num_draws} of them"
        return "seeds of one draw of the data"

    def interval(self, confidence: float) -> tuple[float, float]:
        """Returns the ends of the t interval of another level, in (0, 1)."""
        _check(confidence)
        width = float(special.stdtrit(self.degrees, (1 + confidence) / 2)) * self.standard_error
        return self.mean - width, self.mean + width

    def p_of(self, value: float) -> float:
        """Returns the p value of the two-sided test of mu = `value`."""
        return min(2 * min(self.p_above(value), self.p_below(value)), 1.0)

    def p_above(self, value: float) -> float:
        """Returns the p value of the one-sided test of mu <= `value` against mu > `value`."""
        return self._p(self.mean - value)

    def p_below(self, value: float) -> float:
        """Returns the p value of the one-sided test of mu >= `value` against mu < `value`."""
        return self._p(value - self.mean)

    def _p(self, distance: float) -> float:
        if self.standard_error == 0:
            return 0.0 if distance > 0 else 1.0
        return float(special.stdtr(self.degrees, -distance / self.standard_error))


def paired_difference(
    a: Mapping[Pair, float], b: Mapping[Pair, float], confidence: float = 0.95
) -> PairedDifference:
    """Compares two methods over common pairs, which share data and availability draws.

    With D >= 2 draws, n_i seeds in draw i and mean difference d_i there, the weights are
    w_i = 1 / (tau^2 + sigma^2 / n_i), the mean is sum w_i d_i / sum w_i and its squared standard
    error sum w_i (d_i - mean)^2 / ((D - 1) sum w_i) (Hartung and Knapp), with D - 1 degrees of
    freedom. sigma^2 is the pooled variance within draws; tau^2 = max(0, V - sigma^2 mean(1 / n_i))
    with V the variance of the d_i. With equal n_i this is the t interval over the d_i. With one
    draw it is the t interval over its seeds, and covers nothing else.

    Args:
        a: Score by pair of the one method.
        b: Score by pair of the other. Pairs that only one has are left out.
        confidence: Level of the interval, in (0, 1).

    Returns:
        The mean difference; differences that are all equal have an interval of no width, whose
        p value is 1 if they are 0 and 0 otherwise. A score that is not finite (training diverged)
        makes every number NaN.

    Raises:
        ValueError: If fewer than 2 pairs are common, or `confidence` is not in (0, 1).
    """
    _check(confidence)
    pairs = sorted(a.keys() & b.keys())
    if len(pairs) < 2:
        raise ValueError(f"{len(pairs)} common pairs; a paired difference needs at least 2")
    by_draw: dict[int, list[float]] = {}
    for pair in pairs:
        by_draw.setdefault(pair.draw, []).append(float(a[pair]) - float(b[pair]))
    draws = [np.array(each) for each in by_draw.values()]
    mean, error = _estimate(draws)
    return PairedDifference(mean, error, len(pairs), len(draws), confidence)


def _estimate(draws: list[np.ndarray]) -> tuple[float, float]:
    """Mean and standard error of the differences of each draw."""
    every = np.concatenate(draws)
    if not np.isfinite(every).all():
        return math.nan, math.nan
    if np.ptp(every) == 0:
        return float(every[0]), 0.0
    if len(draws) == 1:
        return float(every.mean()), float(every.std(ddof=1) / math.sqrt(len(every)))
    counts = np.array([len(each) for each in draws])
    means = np.add.reduceat(every, np.cumsum(counts) - counts) / counts
    inverse = 1 / counts
    within = float(((every - np.repeat(means, counts)) ** 2).sum())
    degrees = len(every) - len(draws)
    sigma2 = within / degrees if degrees else 0.0
    tau2 = max(0.0, float(means.var(ddof=1)) - sigma2 * float(inverse.mean()))
    variances = tau2 + sigma2 * inverse
    # All 0 only where squares underflow.
    weights = 1 / variances if variances.all() else np.ones(len(draws))
    weights /= weights.sum()
    mean = float(weights @ means)
    return mean, math.sqrt(float(weights @ (means - mean) ** 2) / (len(draws) - 1))


def _check(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}; it must be between 0 and 1")
