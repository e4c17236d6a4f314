"""Availability masks of this and later rounds, each made once and in order."""

from __future__ import annotations

import numpy as np

from f3ast_tff.availability import AvailabilityProcess


class RememberedMasks:
    """The masks of an availability process, kept until nobody asks for them any more.

    A process that remembers its last round would otherwise go back and forth: the run asks for
    round t, a delivery for t + 1, the run for t + 1 again.
    """

    def __init__(self, process: AvailabilityProcess) -> None:
        """Takes the process."""
        self._process = process
        self._masks: dict[int, np.ndarray] = {}

    def mask(self, round_number: int) -> np.ndarray:
        """See `AvailabilityProcess.mask`."""
        if round_number not in self._masks:
            self._masks[round_number] = self._process.mask(round_number)
        return self._masks[round_number].copy()

    def forget_before(self, round_number: int) -> None:
        """Drops the masks of earlier rounds."""
        for t in [t for t in self._masks if t < round_number]:
            del self._masks[t]
