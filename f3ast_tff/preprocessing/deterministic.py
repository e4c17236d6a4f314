"""Inputs without anything random."""

from __future__ import annotations

import numpy as np


class NothingDrawn:
    """Mixin for inputs that draw nothing."""

    @property
    def num_draws(self) -> int:
        """None."""
        return 0

    def draws(self, round_number: int, client: int, shape: tuple[int, ...]) -> np.ndarray:
        """See `Inputs.draws`."""
        return np.zeros((*shape, 0), np.int32)
