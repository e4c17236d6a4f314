"""Why single runs are not judged, and how many seeds would be needed."""

from __future__ import annotations

import math

import numpy as np

from f3ast_tff.analysis.compare import render
from f3ast_tff.analysis.compare.pairs import Paired
from f3ast_tff.analysis.compare.scored import Kept
from f3ast_tff.analysis.compare.seeds import seeds_needed

# Evaluations of a curve from which the noise of a single run can be told.
_FEWEST_EVALUATIONS = 8


def why_not_judged(
    a: str, b: str, where: str, both: Paired, pair: tuple[Kept, Kept] | None, metric: str
) -> str:
    """Returns how many runs there are, and how many would show a difference of the size seen.

    Args:
        a: Method A.
        b: Method B.
        where: The condition in words; `""` without one.
        both: Their runs, of which one method has a single one.
        pair: Their curves; `None` for a mean over conditions.
        metric: Score of the curves.
    """
    sizes = (len(both.a), len(both.b))
    counted = "1 run each" if sizes == (1, 1) else f"{sizes[0]} and {sizes[1]} runs"
    runs = f"{a} and {b} have {counted}"
    runs += f" ({where})" if where else ""
    effect = both.mean
    if not math.isfinite(effect) or effect == 0:
        return f"{runs}: a verdict needs 3 seeds each or more"
    size = f"a difference of {render.signed(effect)} needs"
    noise = None if pair is None else _noise(*pair, metric)
    if noise:
        number = seeds_needed(effect, noise)
        spread = f"if seeds spread no more than the curves waver ({render.short(noise)})"
        return f"{runs}, which show nothing: {size} {number} seeds each {spread}"
    equal, double = (seeds_needed(effect, times * abs(effect)) for times in (1, 2))
    return (
        f"{runs}, which show nothing: {size} {equal} seeds each if differences between seeds "
        f"spread as much as that, {double} if twice as much"
    )


def _noise(a: Kept, b: Kept, metric: str) -> float | None:
    """Standard deviation of A - B about a line, over the second half of two curves."""
    one, other = (next(iter(each.courses.values())) for each in (a, b))
    common = np.intersect1d(one["round"], other["round"])
    common = common[len(common) // 2 :]
    if len(common) < _FEWEST_EVALUATIONS:
        return None
    values = [c[metric][np.searchsorted(c["round"], common)] for c in (one, other)]
    difference = values[0] - values[1]
    if not np.isfinite(difference).all():
        return None
    line = np.polyval(np.polyfit(common, difference, 1), common)
    return float(np.std(difference - line, ddof=2))
