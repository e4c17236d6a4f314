"""Simulates intervals of few draws: coverage of the true mean, length, and families of claims.

python -m f3ast_tff.analysis.studies.interval_coverage --out scores.csv

Every law has a variance. Under `one outlier in 12` a draw is far below all others with probability
1/12, and 35% of samples of 12 hold no such draw (11/12 to the power of 12). The last law resamples
the 12 kept differences F3AST minus FedAvg under `uneven`, reading `released`. One of the 12 is far
below all others.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from f3ast_tff.analysis.command_line import command, out_flag
from f3ast_tff.analysis.compare.judge import ERROR
from f3ast_tff.analysis.studies.interval_coverage.mean_intervals import CHOSEN, METHODS, ends
from f3ast_tff.analysis.texts import write_csv
from f3ast_tff.core.randomness import generator
from f3ast_tff.files.messages import show
from f3ast_tff.settings import parameter

DRAWS = (3, 5, 8, 12)
# Levels for one claim, and for the smallest p value among ten.
LEVELS = (0.95, 0.995)
# Draws and claims of families without any effect: a figure's, and the thirteen regimes'.
FAMILIES = ((12, 10), (8, 13), (48, 13))
OF_FAMILIES = (CHOSEN, "t")
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
# Distance of an outlier, in deviations of the other draws.
_OUTLIER = 20.0


@dataclass(frozen=True)
class Law:
    """The law of the differences of draws: the mean, and a sampler for a shape."""

    mean: float
    draw: Callable[[np.random.Generator, tuple[int, int]], np.ndarray]


def _with_outliers(random: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return random.standard_normal(shape) - _OUTLIER * (random.random(shape) < 1 / 12)


LAWS = {
    "normal": Law(0.0, lambda random, shape: random.standard_normal(shape)),
    "exponential, skewness -2": Law(-1.0, lambda random, shape: -random.exponential(size=shape)),
    "gamma, skewness -2.3": Law(-_SHAPE, lambda random, shape: -random.gamma(_SHAPE, size=shape)),
    "lognormal, skewness -2.3": Law(
        -math.exp(_SIGMA**2 / 2), lambda random, shape: -random.lognormal(0, _SIGMA, shape)
    ),
    "lognormal, skewness -6.2": Law(
        -math.exp(0.5), lambda random, shape: -random.lognormal(size=shape)
    ),
    "one outlier in 12, skewness -2.9": Law(-_OUTLIER / 12, _with_outliers),
    "kept differences, skewness -2.3": Law(
        float(np.mean(KEPT)), lambda random, shape: random.choice(KEPT, shape)
    ),
}


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    out: str = out_flag("CSV")
    studies: int = parameter(
        4000, "simulated studies, or families, for each law and number of draws", minimum=1
    )
    resamples: int = parameter(1999, "resamples of each bootstrap", minimum=1)


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Writes the file."""
    table = pd.concat(
        [interval_coverage(flags.studies, flags.resamples), family_coverage(flags.studies)]
    )
    write_csv(table, flags.out)
    show(f"{len(table)} rows: {flags.out}")


def interval_coverage(
    studies: int, resamples: int, draws: Sequence[int] = DRAWS, methods: Sequence[str] = METHODS
) -> pd.DataFrame:
    """Simulates studies of every law and number of draws.

    Returns:
        A row for each law, number of draws, level and method; `claims` is 1; `coverage`, the share
        of intervals that hold the law's mean, and `length`, the median length relative to
        Student's t.
    """
    rows = []
    for name, law in LAWS.items():
        for n in draws:
            values = law.draw(generator(0, f"coverage of {name}", n), (studies, n))
            for level in LEVELS:
                where = {"law": name, "draws": n, "claims": 1, "level": level}
                for method in methods:
                    holds, length = _judged(law, values, method, level, resamples)
                    found = {"coverage": round(holds.mean(), 4), "length": length}
                    rows.append({**where, "method": method, **found})
    return pd.DataFrame(rows)


def family_coverage(
    families: int, sizes: Sequence[tuple[int, int]] = FAMILIES, methods: Sequence[str] = OF_FAMILIES
) -> pd.DataFrame:
    """Simulates families of independent claims without any effect, all under one law.

    Holm's rule rejects some claim exactly if the interval of some claim at its first level, 1 - 5%
    over the number of claims, leaves out the truth.

    Args:
        families: Families for each law and size.
        sizes: Draws and claims of a family.
        methods: Intervals to try; no bootstrap.

    Returns:
        Rows as of `interval_coverage`, with `claims` above 1. `coverage` is the share of families
        without a false verdict, `level` that of the family, 0.95; `length` is at the first level.
    """
    rows = []
    for name, law in LAWS.items():
        for n, claims in sizes:
            values = law.draw(generator(0, f"families of {name}", n), (families * claims, n))
            where = {"law": name, "draws": n, "claims": claims, "level": 1 - ERROR}
            for method in methods:
                holds, length = _judged(law, values, method, 1 - ERROR / claims)
                all_hold = holds.reshape(families, claims).all(1)
                found = {"coverage": round(all_hold.mean(), 4), "length": length}
                rows.append({**where, "method": method, **found})
    return pd.DataFrame(rows)


def _judged(
    law: Law, values: np.ndarray, method: str, level: float, resamples: int = 0
) -> tuple[np.ndarray, float]:
    """Whether each interval holds the law's mean, and the median length relative to Student's."""
    low, high = ends(method, values, level, resamples)
    t = ends("t", values, level, resamples)
    with np.errstate(invalid="ignore", divide="ignore"):
        length = float(np.nanmedian((high - low) / (t[1] - t[0])))
    return (low <= law.mean) & (law.mean <= high), round(length, 3)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
