"""How many seeds show a difference: Student's t test at the level of one claim."""

from __future__ import annotations

import math

from scipy import special  # type: ignore[import-untyped]

from f3ast_tff.analysis.compare.judge import FEWEST_PAIRS
from f3ast_tff.analysis.compare.paired_difference import LEVEL, PairedDifference

# Probability of a verdict if the difference is as large as it seems.
POWER = 0.8
# Largest answer.
MOST_SEEDS = 10_000


def seeds_needed(
    difference: float, spread: float, *, paired: bool = True, level: float = LEVEL
) -> int:
    """Returns the least number of seeds per method with which a difference is found.

    Args:
        difference: Mean difference of the methods, not 0.
        spread: Standard deviation over seeds: of the differences if paired, else of a method.
        paired: Whether the methods share their seeds.
        level: Level of the interval that decides, in (0, 1).

    Returns:
        The number, from `FEWEST_PAIRS` up to 10,000.
    """
    size = abs(difference) / spread if spread else math.inf
    low, high = FEWEST_PAIRS, MOST_SEEDS
    while low < high:
        n = (low + high) // 2
        degrees = n - 1 if paired else 2 * n - 2
        shift = min(size * math.sqrt(n if paired else n / 2), 1e3)
        bound = special.stdtrit(degrees, (1 + level) / 2)
        # The other tail is below 1e-5 at this power.
        found = 1 - special.nctdtr(degrees, shift, bound)
        low, high = (low, n) if found >= POWER else (n + 1, high)
    return low


def seeds_for(found: PairedDifference, level: float = LEVEL) -> int | None:
    """Returns `seeds_needed` for a difference as it was found; `None` without one."""
    if not math.isfinite(found.mean) or found.mean == 0:
        return None
    # As if seeds were paired: the spread of the mean over n seeds falls as 1 / sqrt(n).
    spread = found.standard_error * math.sqrt(found.num_units)
    return seeds_needed(found.mean, spread, level=level)
