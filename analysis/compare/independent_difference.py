"""The difference of two methods whose runs share no seeds, with Welch's interval.

For samples of sizes m and n with variances u and v, the squared standard error of the difference of
means is u / m + v / n, with (u / m + v / n)^2 / ((u / m)^2 / (m - 1) + (v / n)^2 / (n - 1)) degrees
of freedom (Welch; Satterthwaite). The interval is Student's.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from f3ast_tff.analysis.compare.paired_difference import PairedDifference
from f3ast_tff.analysis.compare.scored import Pair


@dataclass(frozen=True)
class IndependentDifference(PairedDifference):
    """a minus b over runs that are not paired.

    `num_above` and `num_below` count the pairs of a run of a and a run of b; `num_pairs` is the
    smaller number of runs.

    Attributes:
        num_a: Number of runs of a (draws, if there are several), at least 2.
        num_b: Number of runs of b, likewise.
        degrees: Degrees of freedom.
        rank_p: P value of the two-sided rank-sum test, in [0, 1].
    """

    num_a: int = 0
    num_b: int = 0
    degrees: float = 1.0
    rank_p: float = 1.0

    @property
    def num_values(self) -> float:
        """Degrees of freedom plus 1."""
        return self.degrees + 1

    @property
    def sign_p_value(self) -> float:
        """P value of the rank-sum test, in place of the sign test."""
        return self.rank_p

    @property
    def covers(self) -> str:
        """The population that interval and test cover."""
        return f"runs that are not paired, {self.num_a} and {self.num_b} of them"


def independent_difference(
    a: Mapping[Pair, float], b: Mapping[Pair, float]
) -> IndependentDifference | None:
    """Compares two methods over all their runs.

    Args:
        a: Scores of method a by run. With several draws of the data, the draws' means count.
        b: Scores of method b, likewise.

    Returns:
        The difference; `None` if a method has fewer than 2 runs. With a score that is not finite
        there is no mean, only the rank-sum test.
    """
    one, other = _units(a), _units(b)
    if min(len(one), len(other)) < 2:
        return None
    finite = np.isfinite(one).all() and np.isfinite(other).all()
    mean = error = math.nan
    degrees = float(len(one) + len(other) - 2)
    if finite:
        mean = float(one.mean() - other.mean())
        parts = [float(each.var(ddof=1)) / len(each) for each in (one, other)]
        error = math.sqrt(sum(parts))
        if error:
            sizes = (len(one), len(other))
            degrees = sum(parts) ** 2 / sum(p**2 / (n - 1) for p, n in zip(parts, sizes))
    return IndependentDifference(
        mean=mean,
        standard_error=error,
        num_pairs=min(len(one), len(other)),
        num_draws=1,
        num_diverged=int((~np.isfinite(one)).sum() + (~np.isfinite(other)).sum()),
        num_above=int((one[:, None] > other).sum()),
        num_below=int((one[:, None] < other).sum()),
        num_a=len(one),
        num_b=len(other),
        degrees=degrees,
        rank_p=1.0 if finite else _rank_p(one, other),
    )


def _units(scores: Mapping[Pair, float]) -> np.ndarray:
    by_draw: dict[int, list[float]] = {}
    for pair, value in sorted(scores.items()):
        by_draw.setdefault(pair.draw, []).append(value)
    draws = list(by_draw.values())
    return np.array(draws[0] if len(draws) == 1 else [np.mean(each) for each in draws])


def _rank_p(one: np.ndarray, other: np.ndarray) -> float:
    """P value of the exact two-sided rank-sum test; equal values share their mean rank."""
    every = np.concatenate([one, other])
    # Twice the ranks, which are whole numbers also with ties.
    ranks = ((every[:, None] > every).sum(1) + (every[:, None] >= every).sum(1) + 1).tolist()
    # Number of ways to choose so many ranks of each sum.
    ways = [Counter({0: 1}), *(Counter[int]() for _ in one)]
    for rank in ranks:
        for size in range(len(one) - 1, -1, -1):
            for total, number in ways[size].items():
                ways[size + 1][total + rank] += number
    law, seen = ways[-1], sum(ranks[: len(one)])
    low, high = (
        sum(n for total, n in law.items() if sign * total <= sign * seen) for sign in (1, -1)
    )
    return min(2 * min(low, high) / sum(law.values()), 1.0)
