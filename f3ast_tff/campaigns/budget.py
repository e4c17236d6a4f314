"""A time budget: no run starts that it cannot carry to a checkpoint, and runs stop at its end."""

from __future__ import annotations

import math
import time
from contextlib import AbstractContextManager

from f3ast_tff.campaigns.costs import CostFile
from f3ast_tff.campaigns.kinds import kind_of
from f3ast_tff.campaigns.runs import PlannedRun
from f3ast_tff.training.stopping import Stop

# What a run of a kind that was never measured must have left, or half of a short budget.
_UNKNOWN_S = 30.0


class Budget:
    """The minutes of one go, as a `Stop` that is requested when they are over."""

    def __init__(self, minutes: float | None, processes: int, stop: Stop) -> None:
        """Starts the clock.

        Args:
            minutes: How long; `None` for no limit.
            processes: Runs at a time, as of the costs that were measured.
            stop: Another reason to stop.
        """
        seconds = math.inf if minutes is None else 60 * minutes
        self._deadline = time.monotonic() + seconds
        self._unknown = min(_UNKNOWN_S, seconds / 2)
        self._processes = processes
        self._stop = stop
        self._costs = None if minutes is None else CostFile()

    @property
    def spent(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() >= self._deadline

    def allows(self, run: PlannedRun) -> bool:
        """Returns whether a run that starts now gets as far as a checkpoint."""
        if self._costs is None:
            return True
        cost = self._costs.find(kind_of(run), self._processes)
        need = self._unknown if cost is None else cost.least_seconds
        return time.monotonic() + need <= self._deadline

    def hold(self) -> AbstractContextManager[None]:
        """See `Stop.hold`."""
        return self._stop.hold()

    def requested(self) -> bool:
        """See `Stop.requested`."""
        return self.spent or self._stop.requested()
