"""Distribution functions of the laws of spells, and Kolmogorov's statistic."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from f3ast_tff.availability.spell_laws import Gamma, LogNormal, SpellLaw, Weibull

# Largest statistic that a sample of the law has with probability 0.999.
AT_MOST = 1.95
CDFS: dict[type, Callable] = {
    Weibull: lambda x, shape, scale: -np.expm1(-((x / scale) ** shape)),
    LogNormal: lambda x, shape, scale: special.ndtr(np.log(x / scale) / shape),
    Gamma: lambda x, shape, scale: special.gammainc(shape, x / scale),
}


def cdf(law: SpellLaw, x: np.ndarray) -> np.ndarray:
    """P(X <= x), written down here apart from the law's draws."""
    found = next(CDFS[each] for each in type(law).__mro__ if each in CDFS)
    return found(x, law.shape, law.scale)  # type: ignore[attr-defined]


def kolmogorov(lengths: np.ndarray, law: SpellLaw) -> float:
    """sqrt(n) times the largest distance of both distribution functions."""
    n, expected = len(lengths), cdf(law, np.sort(lengths))
    above, below = np.arange(1, n + 1) / n - expected, expected - np.arange(n) / n
    return float(np.sqrt(n) * max(above.max(), below.max()))
