"""Uneven: the more data, the rarer (Sec. IV-b, model 5)."""

from __future__ import annotations

import numpy as np

from .process import IndependentAvailability


class Uneven(IndependentAvailability):
    """q_k proportional to 1 / p_k; the client with the least data is always available."""

    def __init__(self, p: np.ndarray, seed: int) -> None:
        """Makes the process.

        Args:
            p: Client shares p_k, `float [N]`, each above 0.
            seed: Seed of the draws.
        """
        p = np.asarray(p, np.float64)
        if not np.all(p > 0):
            raise ValueError("every client share must be above 0, or q = 1 / p is not defined")
        super().__init__(p.min() / p, seed)
