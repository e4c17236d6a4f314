"""Time budget of one call of `f3ast-tff campaign`, `--minutes`."""

from __future__ import annotations

import math
import time
from contextlib import AbstractContextManager

from f3ast_tff.campaigns.runs import PlannedRun
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files.signals import Stop

# Least remaining seconds to start a run; at most half of the budget.
_LEAST_S = 30.0


class Budget:
    """A time budget of one call of the command, as a `Stop` requested when it is over."""

    def __init__(self, minutes: float | None, stop: Stop) -> None:
        """Starts the clock; `minutes` is `None` for no limit; `stop` may request a stop earlier."""
        self._minutes = minutes
        self._started = time.monotonic()
        self._seconds = math.inf if minutes is None else 60 * minutes
        self._least = min(_LEAST_S, self._seconds / 2)
        self._stop = stop

    @property
    def spent(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() >= self._started + self._seconds

    def allows(self, run: PlannedRun) -> bool:
        """Returns whether enough time is left to start the run."""
        return time.monotonic() + self._least <= self._started + self._seconds

    def refuse_too_short(self, once: float = 0.0) -> None:
        """Refuses a budget in which no run would start, now or in any later call.

        `once` is the time of this call that later calls do not need, in seconds.

        Raises:
            ParameterError: If the budget allows no run; names the time needed.
        """
        before = time.monotonic() - self._started - once
        if before + self._least <= self._seconds:
            return
        # Half of a longer budget is longer.
        enough = (math.floor((before + _LEAST_S) / 6) + 1) / 10
        allowed = f"must be at least {enough:g}: no run would start before"
        raise ParameterError("minutes", self._minutes, allowed)

    def refuse_standstill(self) -> None:
        """Refuses a budget in which runs started and none reached a checkpoint.

        Raises:
            ParameterError: Always; a later call would do the same again.
        """
        allowed = "must be longer: no run has reached a checkpoint in this time"
        raise ParameterError("minutes", self._minutes, allowed)

    def hold(self) -> AbstractContextManager[None]:
        return self._stop.hold()

    def requested(self) -> bool:
        return self.spent or self._stop.requested()
