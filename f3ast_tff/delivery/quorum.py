"""Quorum: the server goes on once so many updates are there, and what follows when they are not."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.delivery.delivery import Arrivals
from f3ast_tff.delivery.device_times import TimedConfig
from f3ast_tff.settings import parameter, register
from f3ast_tff.settings.configuration import Settings

FAILED = ("again", "shorter", "skip")


@register(
    "delivery",
    "quorum",
    "Quorum",
    about="the server goes on once a quorum of updates is there, at the latest after a timeout",
    order=8,
)
@dataclass(frozen=True)
class Quorum(TimedConfig):
    """Waits for q updates, then some seconds for more; without q by the timeout the round fails.

    With x_(q) the time at which q clients have arrived, W = `quorum_wait` and D = `quorum_timeout`,
    the round takes the updates that arrive by min(x_(q) + W, D), and ends with the last client if
    that is earlier. All later updates are lost.

    If x_(q) > D, or fewer than q clients are asked, `quorum_failed` says what follows:

    - `again`: the server waits until D, drops the updates, and asks again in the next round.
      Without D it waits for the clients that it asked.
    - `shorter`: it waits as long and goes on with the updates that are there.
    - `skip`: a round with fewer than q clients is left out at once, without waiting; else as
      `again`.

    Examples:
        >>> from f3ast_tff import simulate
        >>> from f3ast_tff.delivery import Quorum
        >>> found = simulate(delivery=Quorum(quorum=8, quorum_wait=0.2), rounds=4).selection
        >>> found["num_selected"].tolist(), found["num_delivered"].tolist()
        ([10, 10, 10, 10], [9, 9, 8, 9])
    """

    quorum: int | None = parameter(
        None, "q, updates that a round needs; by default those of all clients asked", minimum=1
    )
    quorum_wait: float = parameter(
        0.0,
        "W, time for further updates once q are there; wait_time_after_min_received in NVFlare",
        minimum=0,
        units="seconds",
    )
    quorum_timeout: float | None = parameter(
        None, "D, the longest time of a round; by default there is none", above=0, units="seconds"
    )
    quorum_failed: str = parameter(
        "again",
        "a round without a quorum drops its updates and is asked again, goes on with fewer, or is "
        "left out at once",
        choices=FAILED,
    )

    def prepare(self) -> None:
        """Refuses a quorum that no round can have.

        Raises:
            ParameterError: If fewer clients are asked.
        """
        super().prepare()
        most = min(self.world.constraint.largest_k, self.world.num_clients)
        if self.quorum is not None and self.quorum > most:
            allowed = f"must be at most {most}, the clients asked per round"
            raise ParameterError("quorum", self.quorum, allowed)

    def check(self, settings: Settings) -> None:
        super().check(settings)
        drawn = settings.get("baseline_sampling")
        if self.quorum is not None and drawn == "with_replacement":
            allowed = "counts sites, and some would be drawn twice: give baseline_sampling=uniform"
            raise ParameterError("quorum", self.quorum, allowed)

    def arrivals(self, round_number: int, ids: np.ndarray) -> Arrivals:
        seconds = self.seconds(round_number, ids)
        # A client drawn twice arrives once.
        _, place = np.unique(ids, return_index=True)
        times = np.sort(seconds[place])
        needed = len(times) if self.quorum is None else self.quorum
        timeout = math.inf if self.quorum_timeout is None else self.quorum_timeout
        last = float(times.max(initial=0))
        if 0 < needed <= len(times) and times[needed - 1] <= timeout:
            end = min(float(times[needed - 1]) + self.quorum_wait, timeout)
            return _by(end, seconds, min(end, last))
        if self.quorum_failed == "skip" and len(times) < needed:
            return Arrivals(np.zeros(len(ids), bool), seconds, 0.0, failed=len(ids) > 0)
        waited = last if math.isinf(timeout) else timeout
        fails = self.quorum_failed != "shorter" and len(ids) > 0
        return _by(timeout, seconds, waited, failed=fails)


def _by(end: float, seconds: np.ndarray, round_seconds: float, *, failed: bool = False) -> Arrivals:
    """Arrivals of a round that takes the updates until a time."""
    return Arrivals(seconds <= end, seconds, round_seconds, failed=failed)
