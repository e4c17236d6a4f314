"""How often Holm's rule rejects something in a family without effect: a bootstrap of the draws.

Intervals of skewed differences over few draws cover too seldom at the levels that a large family
needs, and single outlying draws decide there. So the size of a family's error is estimated from the
family itself: each claim's differences are shifted to mean 0, draws are drawn with replacement,
together for all claims, and the family is judged. The share of such families with any direction
stands beside the verdicts; it is 5% where the intervals cover as they say.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from f3ast_tff.analysis.compare.judge import ERROR, Claim
from f3ast_tff.analysis.compare.paired_difference import reach
from f3ast_tff.core.randomness import generator

REPEATS = 2000
# Families of fewer claims are close to their level, see the study interval_coverage.
LARGE = 20


def null_rejections(claims: Sequence[Claim], repeats: int = REPEATS, seed: int = 0) -> float:
    """Returns the share of families without effect in which some claim has a direction.

    Args:
        claims: The claims of a family. Those that cannot be tested, or have no mean, are left out.
        repeats: Number of families drawn.
        seed: Seed of the draws.

    Returns:
        The share, in [0, 1]; NaN if no claim is left.
    """
    tested = [claim for claim in claims if claim.can_test and not claim.found.num_diverged]  # type: ignore[union-attr]
    if not tested:
        return float("nan")
    by_draw = [_differences(claim) for claim in tested]
    draws = sorted({draw for each in by_draw for draw in each})
    confidence = 1 - ERROR / len(tested)
    rng = generator(seed, "null families")
    chosen = rng.integers(len(draws), size=(repeats, len(draws)))
    counts = np.stack([np.bincount(each, minlength=len(draws)) for each in chosen]).astype(float)
    rejected = np.zeros(repeats, bool)
    for each in by_draw:
        there = np.array([draw in each for draw in draws])
        values = np.array([each.get(draw, 0.0) for draw in draws])
        values[there] -= values[there].mean()
        rejected |= _leaves_out_0(values, counts * there, confidence)
    return float(rejected.mean())


def _differences(claim: Claim) -> dict[int, float]:
    """Mean difference of each draw."""
    assert claim.paired is not None
    found: dict[int, list[float]] = {}
    for pair in claim.paired.common:
        found.setdefault(pair.draw, []).append(claim.paired.a[pair] - claim.paired.b[pair])
    return {draw: float(np.mean(values)) for draw, values in found.items()}


def _leaves_out_0(values: np.ndarray, counts: np.ndarray, confidence: float) -> np.ndarray:
    """Whether the interval of each resample leaves out 0; `values` are [D], `counts` [R, D]."""
    n = counts.sum(axis=1)
    usable = n >= 2
    size = np.where(usable, n, 2.0)
    mean = counts @ values / size
    distances = values - mean[:, None]
    second = (counts * distances**2).sum(axis=1) / size
    third = (counts * distances**3).sum(axis=1) / size
    usable &= second > 0
    second = np.where(usable, second, 1.0)
    error = np.sqrt(second / (size - 1))
    skewed = np.where(size > 2, np.sqrt(size * (size - 1)) / np.maximum(size - 2, 1), 0.0)
    skewed = skewed * third / second**1.5
    found = np.zeros(len(n), bool)
    for number in np.unique(size[usable]).astype(int):
        here = usable & (size == number)
        below, above = (reach(confidence, sign * skewed[here], number) for sign in (-1.0, 1.0))
        low = mean[here] - below * error[here]
        high = mean[here] + above * error[here]
        found[here] = (low > 0) | (high < 0)
    return found
