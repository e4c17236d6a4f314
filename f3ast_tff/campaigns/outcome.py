"""How a run of a campaign ended."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone

FINISHED = "finished"
FAILED = "failed"
# The process that ran it is gone.
LOST = "lost"


@dataclass(frozen=True)
class Outcome:
    """How a run ended, and where.

    Attributes:
        state: `FINISHED`, `FAILED` or `LOST`.
        error: One line if it did not finish.
        started: When it began or went on, ISO 8601, UTC.
        ended: When it ended.
        seconds: How long that took, what the process needed beforehand not counted.
        worker: The process that ran it.
    """

    state: str
    error: str | None
    started: str
    ended: str
    seconds: float
    worker: str


def now() -> str:
    """Returns the time as manifests have it: ISO 8601, UTC, to the millisecond."""
    return at(datetime.now(timezone.utc).timestamp())


def at(timestamp: float) -> str:
    """Returns a time, seconds since 1970, as manifests have it."""
    time = datetime.fromtimestamp(timestamp, timezone.utc)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
