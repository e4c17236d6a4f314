"""Aggregates that a few wrong updates cannot move far: median, trimmed mean, Krum.

f3ast-tff run --plugin=robust.py --algorithm=fedavg_all --aggregation=robust

Yin et al. (ICML 2018) and Blanchard et al. (NeurIPS 2017). All clients count alike: weights such as
p_k / r_k are not used, so that the aggregate is biased towards clients that are often available.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.settings import parameter, register


def trimmed_mean(updates: np.ndarray, each_side: int) -> np.ndarray:
    """Mean of each coordinate without its `each_side` smallest and largest values."""
    ordered = np.sort(updates, axis=0)
    mean: np.ndarray = ordered[each_side : len(updates) - each_side].mean(axis=0)
    return mean


def krum(updates: np.ndarray, wrong: int) -> np.ndarray:
    """The update with the smallest sum of squared distances to its m - wrong - 2 nearest."""
    distances = ((updates[:, None] - updates) ** 2).sum(axis=2)
    nearest = max(1, len(updates) - wrong - 2)
    # The distance to itself, 0, comes first.
    sums = np.sort(distances, axis=1)[:, 1 : nearest + 1].sum(axis=1)
    chosen: np.ndarray = updates[np.argmin(sums)]
    return chosen


@register("aggregation", "robust", "Robust", about="median, trimmed mean or Krum of the updates")
@dataclass(frozen=True)
class Robust(Aggregation):
    """An unweighted aggregate of the stacked updates."""

    robust_rule: str = parameter(
        "median",
        "median or trimmed_mean of each coordinate, or krum, one client's update",
        choices=("median", "trimmed_mean", "krum"),
    )
    wrong_share: float = parameter(
        0.2, "share of wrong updates that trimmed_mean and krum expect", minimum=0, maximum=0.4
    )

    @property
    def normalise(self) -> bool:
        """Like a mean, it takes weights of any sum."""
        return True

    def combine(self, updates: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Returns Delta of the updates, `[m, num_weights]`."""
        wrong = int(self.wrong_share * len(updates))
        if self.robust_rule == "median":
            median: np.ndarray = np.median(updates, axis=0)
            return median
        if self.robust_rule == "trimmed_mean":
            return trimmed_mean(updates, wrong)
        return krum(updates, wrong)
