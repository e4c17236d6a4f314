"""What executes the runs of a campaign: processes of this machine, or of a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from f3ast_tff.campaigns.grid import PlannedRun
from f3ast_tff.campaigns.outcome import Outcome


class Worker(Protocol):
    """A process that executes one run after the other.

    Attributes:
        name: For people.
    """

    name: str

    def submit(self, run: PlannedRun) -> None:
        """Starts a run; the one before must have ended."""
        ...

    def outcome(self) -> Outcome:
        """Returns how the run ended; waits for that. `LOST` if the process is gone."""
        ...

    def close(self) -> None:
        """Ends the process, a run in it too, which can be gone on with; again does nothing."""
        ...


class Workers(Protocol):
    """Where worker processes come from.

    Attributes:
        slots: How many there may be at a time.
    """

    slots: int

    def start(self, environment: tuple[str, str]) -> Worker:
        """Starts a process for runs of this `PlannedRun.environment`."""
        ...

    def ended(self, busy: Sequence[Worker], seconds: float) -> list[Worker]:
        """Returns those whose run has ended, after waiting at most so long for one."""
        ...
