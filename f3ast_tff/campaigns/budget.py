"""A time budget: no run starts that it cannot carry to a checkpoint, and runs stop at its end."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager

from f3ast_tff.campaigns.costs import CostFile
from f3ast_tff.campaigns.runs import PlannedRun
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.signals import Stop

# Seconds that must be left to start a run of an unmeasured kind; half of a shorter budget.
_UNKNOWN_S = 30.0


class Budget:
    """The minutes of one go, as a `Stop` that is requested when they are over."""

    def __init__(self, minutes: float | None, stop: Stop) -> None:
        """Starts the clock.

        Args:
            minutes: How long; `None` for no limit.
            stop: Another reason to stop.
        """
        self._minutes = minutes
        self._started = time.monotonic()
        seconds = math.inf if minutes is None else 60 * minutes
        self._deadline = self._started + seconds
        self._unknown = min(_UNKNOWN_S, seconds / 2)
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
        return time.monotonic() + self._need(run, self._costs) <= self._deadline

    def _need(self, run: PlannedRun, costs: CostFile) -> float:
        steps = costs.find(run)
        return self._unknown if steps is None else steps.of_run(run).least_seconds

    def refuse_too_short(self, runs: Sequence[PlannedRun], once: float = 0.0) -> None:
        """Refuses a time in which no run would start, now or in any later go.

        Args:
            runs: The runs left, at least one.
            once: Seconds of this go that a later one will not need.

        Raises:
            ParameterError: If there is no run that the time allows; says how long it takes.
        """
        costs = self._costs
        if self._minutes is None or costs is None:
            return
        before = time.monotonic() - self._started - once
        left = 60 * self._minutes - before
        if any(self._need(run, costs) <= left for run in runs):
            return
        need = min(self._need(run, costs) for run in runs)
        # Half of a longer time is longer.
        need = _UNKNOWN_S if need == self._unknown else need
        enough = (math.floor((before + need) / 6) + 1) / 10
        allowed = f"must be at least {enough:g}: no run would reach a checkpoint before"
        raise ParameterError("minutes", self._minutes, allowed)

    def hold(self) -> AbstractContextManager[None]:
        """See `Stop.hold`."""
        return self._stop.hold()

    def requested(self) -> bool:
        """See `Stop.requested`."""
        return self.spent or self._stop.requested()
