"""The difference of two methods over the pairs (data draw, seed) that both ran, with its interval.

Runs on one draw of the data share the effect of that draw on a method, so seeds of one draw are no
sample of draws. The model has two levels: d_ij = mu + a_i + e_ij for draw i and seed j, with
a_i ~ (0, tau^2) between draws and e_ij ~ (0, sigma^2) within a draw.

Differences over draws are often skewed; then Student's t interval covers the mean too seldom. Here
its end on the side of the longer tail is stretched. The stretch is our own, neither Johnson's
modified t nor a BCa bootstrap: at that end alone it takes the skewness term g (2 z^2 + 1) / (6
sqrt(n)) of Johnson's test `FACTOR` times. `FACTOR` was chosen by simulation. `interval_coverage.py`
measures the coverage, also of other intervals and where the stretch fails.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from f3ast_tff.analysis.compare.scored import Pair

# Level of an interval that is not corrected.
LEVEL = 0.95
OUTLYING = 5.0
_FEWEST_FOR_OUTLIERS = 8
# Standard deviation of a normal distribution over its median absolute deviation.
_OF_NORMAL = 1.4826


@dataclass(frozen=True)
class PairedDifference:
    """a minus b over common pairs.

    If a run diverged, mean, error and intervals are NaN, and `p_value` is that of the sign test.

    Attributes:
        mean: Estimate of mu.
        standard_error: Standard error of `mean`; 0 if all differences are equal.
        num_pairs: Number of common pairs, at least 2.
        num_draws: Number of data draws among the pairs.
        skewness: Skewness of the draws' differences (of the seeds' with one draw); 0 for 2 values.
        num_diverged: Number of pairs with a score that is not finite.
        num_above: Number of draws (seeds with one draw) whose difference is above 0.
        num_below: Number of draws (seeds with one draw) whose difference is below 0.
        median: Median over draws (seeds with one draw); NaN if a run diverged.
        outliers: With 8 draws or more (seeds with one draw), those whose difference is farther from
            the median than `OUTLYING` standard deviations, estimated from the median absolute
            deviation, with the difference.
    """

    mean: float
    standard_error: float
    num_pairs: int
    num_draws: int
    skewness: float = 0.0
    num_diverged: int = 0
    num_above: int = 0
    num_below: int = 0
    median: float = math.nan
    outliers: tuple[tuple[int, float], ...] = ()

    @property
    def num_units(self) -> int:
        """Number of draws; with one draw, number of seeds."""
        return self.num_draws if self.num_draws > 1 else self.num_pairs

    @property
    def num_values(self) -> float:
        """Number of values behind the standard error: its degrees of freedom plus 1."""
        return self.num_units

    @property
    def low(self) -> float:
        """Lower end of the 95% interval."""
        return self.interval(LEVEL)[0]

    @property
    def high(self) -> float:
        """Upper end of the 95% interval."""
        return self.interval(LEVEL)[1]

    @property
    def p_value(self) -> float:
        """P value of the two-sided test of mu = 0, in [0, 1].

        If a run diverged, the exact sign test over draws replaces it: a method is worst in a run in
        which it diverged. A draw in which both are level counts against either side.
        """
        return self.sign_p_value if self.num_diverged else self.p_of(0.0)

    @property
    def sign_p_value(self) -> float:
        """P value of the exact two-sided sign test over draws (seeds with one draw), in [0, 1]."""
        most = max(self.num_above, self.num_below)
        return min(2 * float(special.bdtrc(most - 1, self.num_units, 0.5)), 1.0)

    @property
    def is_above(self) -> bool:
        """Whether a small `p_value` indicates a difference above 0."""
        return self.num_above > self.num_below if self.num_diverged else self.mean > 0

    @property
    def covers(self) -> str:
        """The population that interval and test cover."""
        if self.num_draws > 1:
            return f"draws of the data, {self.num_draws} of them"
        return "seeds of one draw of the data"

    def interval(self, confidence: float) -> tuple[float, float]:
        """Returns the ends of the interval of another level, in (0, 1).

        These are Student's ends; the end on the side of the longer tail is stretched.
        """
        tails = np.array([-self.skewness, self.skewness])
        below, above = reach(confidence, tails, self.num_values) * self.standard_error
        return float(self.mean - below), float(self.mean + above)

    def p_of(self, value: float) -> float:
        """Returns the p value of the two-sided test of mu = `value`; NaN without a mean."""
        distance = self.mean - value
        if math.isnan(distance):
            return math.nan
        if self.standard_error == 0:
            return 0.0 if distance else 1.0
        tail = -self.skewness if distance > 0 else self.skewness
        return min(2 * one_sided_p(abs(distance) / self.standard_error, tail, self.num_values), 1.0)


def paired_difference(a: Mapping[Pair, float], b: Mapping[Pair, float]) -> PairedDifference:
    """Compares two methods over common pairs, which share data and availability draws.

    Let there be D >= 2 draws, n_i seeds in draw i, and mean difference d_i in draw i. The weights
    are w_i = 1 / (tau^2 + sigma^2 / n_i). The mean is sum w_i d_i / sum w_i, and its squared
    standard error is sum w_i (d_i - mean)^2 / ((D - 1) sum w_i) (Hartung and Knapp), with D - 1
    degrees of freedom. sigma^2 is the pooled variance within draws;
    tau^2 = max(0, V - sigma^2 mean(1 / n_i)) with V the variance of the d_i. If all n_i are equal,
    these are mean and standard error of the d_i. For a single draw, mean and standard error are
    over its seeds, and the interval covers only seeds of this draw.

    Args:
        a: Scores of method a, by pair.
        b: Scores of method b, by pair. Only common pairs count.

    Returns:
        The mean difference. If all differences are equal, the interval has no width, and the p
        value is 1 if they are 0 and 0 otherwise. With a score that is not finite (training
        diverged) there is no mean, only the sign test, for which the score should be infinitely bad
        (`inf` for a loss). A NaN is level with every score.

    Raises:
        ValueError: If fewer than 2 pairs are common.
    """
    pairs = sorted(a.keys() & b.keys())
    if len(pairs) < 2:
        raise ValueError(f"{len(pairs)} common pairs; a paired difference needs at least 2")
    by_draw: dict[int, list[float]] = {}
    for pair in pairs:
        by_draw.setdefault(pair.draw, []).append(float(a[pair]) - float(b[pair]))
    draws = list(by_draw.values())
    every = np.array([value for draw in draws for value in draw])
    diverged = int((~np.isfinite(every)).sum())
    # Infinities of both signs are level.
    with np.errstate(invalid="ignore"):
        means = [draw[0] if len(draw) == 1 else np.mean(draw) for draw in draws]
    units = every if len(draws) == 1 else np.array(means)
    counts = np.array([len(draw) for draw in draws])
    names = [pair.seed for pair in pairs] if len(draws) == 1 else list(by_draw)
    estimate = (math.nan, math.nan, math.nan) if diverged else _estimate(every, counts)
    mean, error, skewed = estimate
    return PairedDifference(
        mean=mean,
        standard_error=error,
        num_pairs=len(pairs),
        num_draws=len(draws),
        skewness=skewed,
        num_diverged=diverged,
        num_above=int((units > 0).sum()),
        num_below=int((units < 0).sum()),
        median=math.nan if diverged else float(np.median(units)),
        outliers=() if diverged else _outliers(names, units),
    )


def _outliers(names: Sequence[int], units: np.ndarray) -> tuple[tuple[int, float], ...]:
    distances = np.abs(units - np.median(units))
    bound = OUTLYING * _OF_NORMAL * float(np.median(distances))
    if len(units) < _FEWEST_FOR_OUTLIERS or bound == 0:
        return ()
    far = np.flatnonzero(distances > bound).tolist()
    return tuple((names[place], float(units[place])) for place in far)


def difference_of_common(
    a: Mapping[Pair, float], b: Mapping[Pair, float]
) -> PairedDifference | None:
    """Returns `paired_difference`; `None` for fewer than 2 common pairs."""
    return paired_difference(a, b) if len(a.keys() & b.keys()) > 1 else None


def mean_interval(scores: Mapping[Pair, float]) -> PairedDifference:
    """Returns the mean of a score over draws with its 95% interval, as a difference to 0.

    Raises:
        ValueError: If there are fewer than 2 pairs.
    """
    return paired_difference(scores, dict.fromkeys(scores, 0.0))


def _estimate(every: np.ndarray, counts: np.ndarray) -> tuple[float, float, float]:
    """Mean, standard error and skewness of differences, given draw by draw with their counts."""
    if np.ptp(every) == 0:
        return float(every[0]), 0.0, 0.0
    if len(counts) == 1:
        n = len(every)
        skewed = skewness(every, np.full(n, 1 / n))
        return float(every.mean()), float(every.std(ddof=1) / math.sqrt(n)), skewed
    means = np.add.reduceat(every, np.cumsum(counts) - counts) / counts
    inverse = 1 / counts
    within = float(((every - np.repeat(means, counts)) ** 2).sum())
    degrees = len(every) - len(counts)
    sigma2 = within / degrees if degrees else 0.0
    tau2 = max(0.0, float(means.var(ddof=1)) - sigma2 * float(inverse.mean()))
    variances = tau2 + sigma2 * inverse
    # All 0 only where squares underflow.
    weights = 1 / variances if variances.all() else np.ones(len(counts))
    weights /= weights.sum()
    mean = float(weights @ means)
    error = math.sqrt(float(weights @ (means - mean) ** 2) / (len(counts) - 1))
    return mean, error, skewness(means, weights)


# Our own; the first-order term has 1, for the skewness of the law instead of that of a few values.
FACTOR = 2.5
# Distance, in deviations, beyond which a normal tail underflows.
_MOST = 37.0


def skewness(values: np.ndarray, weights: np.ndarray) -> float:
    """Returns the skewness of values, corrected for their number.

    g = sqrt(n (n - 1)) / (n - 2) * sum w d^3 / (sum w d^2)^(3/2), d the distances to the mean.

    Args:
        values: Shape [n], finite.
        weights: Shape [n], of sum 1.

    Returns:
        g; 0 for fewer than 3 values or for equal values, which have no skewness.
    """
    n = len(values)
    distances = values - weights @ values
    largest = float(np.abs(distances).max(initial=0.0))
    if n < 3 or largest == 0:
        return 0.0
    distances = distances / largest
    second, third = (float(weights @ distances**power) for power in (2, 3))
    return math.sqrt(n * (n - 1)) / (n - 2) * third / second**1.5


def reach(confidence: float, tail: np.ndarray, n: float) -> np.ndarray:
    """Returns the distance of an end of an interval from the mean, in standard errors.

    Args:
        confidence: Level of the interval with both ends, in (0, 1).
        tail: Skewness towards that end: g for the upper end, -g for the lower end.
        n: Number of values, at least 2.
    """
    p = (1 - confidence) / 2
    return -special.stdtrit(n - 1, p) + _stretch(tail, n) * (2 * special.ndtri(p) ** 2 + 1)


@lru_cache(maxsize=4096)
def one_sided_p(distance: float, tail: float, n: float) -> float:
    """Returns the p at which the interval of level 1 - 2 p just reaches a value, see `reach`.

    `distance` is in standard errors beyond the value, `tail` the skewness towards it, `n` the
    number of values, at least 2.
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


def _stretch(tail: np.ndarray, n: float) -> np.ndarray:
    return FACTOR * np.maximum(tail, 0.0) / (6 * math.sqrt(n))
