"""Simulates intervals of few draws: coverage of the true mean, and length.

python -m f3ast_tff.analysis.interval_coverage --out analysis/results/interval_coverage.csv

Every law has a variance. The last law resamples the 12 kept differences F3AST minus FedAvg under
`uneven`, reading `released`. One of the 12 is far below all others, and 35% of samples of 12 miss
it (11/12 to the power of 12).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special  # type: ignore[import-untyped]

from f3ast_tff.analysis.command_line import command, out_flag
from f3ast_tff.analysis.paired_difference import reach
from f3ast_tff.analysis.texts import write_csv
from f3ast_tff.core.randomness import generator
from f3ast_tff.settings import parameter

DRAWS = (3, 5, 8, 12)
# Levels for one claim, and for the smallest p value among ten.
LEVELS = (0.95, 0.995)
# The method of `PairedDifference`.
CHOSEN = "stretched t"
METHODS = (CHOSEN, "t", "Hall", "bootstrap-t", "sign flips")
KEPT = (
    -0.3220,
    -0.1514,
    -0.0964,
    -0.0920,
    -0.0866,
    -0.0795,
    -0.0716,
    -0.0700,
    -0.0664,
    -0.0583,
    -0.0486,
    -0.0245,
)
# Sigma of the lognormal law of skewness 2.3.
_SIGMA = 0.60705
# Shape of the gamma law of skewness 2.3.
_SHAPE = (2 / 2.3) ** 2

# Lower and upper ends, shape [studies].
Ends = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Law:
    """The law of the differences of draws: the mean, and a sampler for a shape."""

    mean: float
    draw: Callable[[np.random.Generator, tuple[int, int]], np.ndarray]


LAWS = {
    "normal": Law(0.0, lambda random, shape: random.standard_normal(shape)),
    "exponential, skewness -2": Law(-1.0, lambda random, shape: -random.exponential(size=shape)),
    "gamma, skewness -2.3": Law(-_SHAPE, lambda random, shape: -random.gamma(_SHAPE, size=shape)),
    "lognormal, skewness -2.3": Law(
        -math.exp(_SIGMA**2 / 2), lambda random, shape: -random.lognormal(0, _SIGMA, shape)
    ),
    "kept differences, skewness -2.3": Law(
        float(np.mean(KEPT)), lambda random, shape: random.choice(KEPT, shape)
    ),
}


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    out: str = out_flag("CSV")
    studies: int = parameter(4000, "simulated studies for each law and number of draws", minimum=1)
    resamples: int = parameter(1999, "resamples of bootstrap-t", minimum=1)


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Writes the file."""
    table = interval_coverage(flags.studies, flags.resamples)
    write_csv(table, flags.out)
    print(f"{len(table)} rows: {flags.out}")


def interval_coverage(
    studies: int, resamples: int, draws: Sequence[int] = DRAWS, methods: Sequence[str] = METHODS
) -> pd.DataFrame:
    """Simulates studies of every law and number of draws.

    Returns:
        A row for each law, number of draws, level and method: `coverage`, the share of intervals
        that hold the law's mean, and `length`, the median length relative to Student's t.
    """
    rows = []
    for name, law in LAWS.items():
        for n in draws:
            values = law.draw(generator(0, f"coverage of {name}", n), (studies, n))
            for level in LEVELS:
                t = ends("t", values, level, resamples)
                for method in methods:
                    low, high = ends(method, values, level, resamples)
                    with np.errstate(invalid="ignore", divide="ignore"):
                        length = np.nanmedian((high - low) / (t[1] - t[0]))
                    holds = np.mean((low <= law.mean) & (law.mean <= high))
                    found = {"coverage": round(holds, 4), "length": round(length, 3)}
                    where = {"law": name, "draws": n, "level": level, "method": method}
                    rows.append({**where, **found})
    return pd.DataFrame(rows)


def ends(method: str, values: np.ndarray, level: float, resamples: int) -> Ends:
    """Returns the ends of the intervals of studies, of differences of shape [studies, draws >= 3].

    `resamples` is the number of resamples of bootstrap-t.
    """
    if method == "sign flips":
        return _sign_flips(values, level)
    n = values.shape[1]
    mean, error = _estimates(values)
    quantile = float(special.stdtrit(n - 1, (1 + level) / 2))
    # Statistics (mean - mu) / error at the lower and the upper end.
    lower, upper = np.full_like(mean, quantile), np.full_like(mean, -quantile)
    if method == "bootstrap-t":
        lower, upper = _bootstrap(values, level, resamples)
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
    """The T at which Hall's cubic equals `h` (Hall, "On the removal of skewness", 1992).

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


def _sign_flips(values: np.ndarray, level: float) -> Ends:
    """The values that the exact sign-flip test of the mean does not reject.

    Flipping the signs of d_i - mu in a subset lowers the sum exactly if mu is below the subset's
    mean, so the ends are order statistics of the means of all subsets (Hartigan 1969). With few
    draws no value is rejected.
    """
    n = values.shape[1]
    subsets = (np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1
    rank = int((1 - level) / 2 * 2**n)
    if rank == 0:
        everything = np.full(len(values), np.inf)
        return -everything, everything
    means = np.sort(values @ (subsets / subsets.sum(1, keepdims=True)).T, axis=1)
    return means[:, rank - 1], means[:, -rank]


if __name__ == "__main__":
    sys.exit(main(sys.argv))
