"""Asynchronous training: clients finish after their own time, the server acts on arrivals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from f3ast_tff.availability import CommunicationConstraint
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.delivery.delivery import Arrivals
from f3ast_tff.delivery.late import LateConfig
from f3ast_tff.settings import Derived, parameter, register
from f3ast_tff.settings.configuration import Settings

STARTS = ("at_once", "with_model")
LEAVERS = ("stay", "late", "lost")
# Part of a period by which a time may miss its end, because times are rounded sums.
_ROUNDING = 1e-9


class Finish(NamedTuple):
    """Outcome of clients that start at one time.

    Attributes:
        seconds: Time at which each update arrives or is lost, `float64 [m]`.
        arrives: Whether it arrives, `bool [m]`.
    """

    seconds: np.ndarray
    arrives: np.ndarray


@dataclass(frozen=True)
class AtWork:
    """A run's constraint as a bound on the clients at work; methods plan for M updates per step.

    `largest_k` and `mean_k` are M, the size of a step, for what methods derive from K: first rates
    and the divisor K. `limit` is K_t, for the selection, and may be above `largest_k`.

    Attributes:
        constraint: The run's constraint; its K_t bounds the clients at work.
        buffer: M, number of updates per step of the server.
    """

    constraint: CommunicationConstraint
    buffer: int

    @property
    def largest_k(self) -> int:
        return self.buffer

    @property
    def mean_k(self) -> float:
        return float(self.buffer)

    def limit(self, round_number: int) -> RoundConstraint:
        found = self.constraint.limit(round_number)
        if not found.counts_only:
            allowed = "needs a constraint on the number of clients, no budget and no groups"
            raise ParameterError("delivery", "asynchronous", allowed)
        return found


def _buffer(known: Any) -> int:
    """M of a method that has one, else 1: the server acts on every arrival."""
    return int(known.get("buffer_size", 1))


@register(
    "delivery",
    "asynchronous",
    "Asynchronous",
    about="clients finish after their own time; the server acts once M updates have arrived",
    order=7,
)
@dataclass(frozen=True)
class Asynchronous(LateConfig):
    """Clients start, finish after their own time in seconds, and the server acts on arrivals.

    At most K_t clients are at work. Client k, started in round t, needs the seconds s_{k,t} of
    `TimedConfig`. Round t ends when M updates have arrived: the server then acts, and its model is
    that of round t + 1. `EventClock` plays the events. A round of the availability process lasts a
    period of L seconds.

    Examples:
        >>> from f3ast_tff import simulate
        >>> from f3ast_tff.delivery import Asynchronous
        >>> found = simulate(delivery=Asynchronous(async_buffer=4), rounds=5)
        >>> found.selection["num_selected"].tolist(), found.selection["num_delivered"].tolist()
        ([13, 4, 4, 4, 4], [4, 4, 4, 4, 4])
        >>> found.metrics["simulated_seconds"].round(1).tolist()
        [2.2]
    """

    looks_ahead: ClassVar[bool] = True
    is_asynchronous: ClassVar[bool] = True

    async_buffer: int = parameter(
        Derived(_buffer, "buffer_size of a method that has one, else 1"),
        "M, updates that arrive before the server acts",
        minimum=1,
    )
    async_starts: str = parameter(
        "at_once",
        "a client starts as soon as another has finished, or only when there is a new model; then "
        "the server also acts if nobody is at work",
        choices=STARTS,
    )
    async_leavers: str = parameter(
        "stay",
        "a client that becomes unavailable while it trains goes on, pauses and is late, or is lost",
        choices=LEAVERS,
    )
    async_period_seconds: float | None = parameter(
        None,
        "L, time that a round of the availability process stands for; by default "
        "async_period_quantile decides",
        above=0,
        units="seconds",
    )
    async_period_quantile: float = parameter(
        0.5, "L is this quantile over clients of their typical time", above=0, maximum=1
    )
    async_most_periods: int = parameter(
        1000,
        "an update that takes longer is lost, unless async_leavers=stay",
        minimum=1,
        maximum=10000,
        units="periods",
    )

    @property
    def buffer(self) -> int:
        """M; 1 if the delivery was made without settings that it could follow from."""
        return 1 if self.async_buffer is None else self.async_buffer

    @cached_property
    def period(self) -> float:
        """L, seconds."""
        if self.async_period_seconds is not None:
            return self.async_period_seconds
        typical = self.typical(np.flatnonzero(self.world.examples > 0))
        return float(np.quantile(typical, self.async_period_quantile))

    @cached_property
    def _typical(self) -> np.ndarray:
        return super().typical(np.arange(self.world.num_clients))

    def typical(self, ids: np.ndarray) -> np.ndarray:
        """Returns s_k, kept for all clients: most events need those of one client."""
        return self._typical[ids]

    def round_at(self, seconds: float) -> int:
        """Returns the round of the availability process at a time, from 1."""
        return int(seconds / self.period + _ROUNDING) + 1

    def begin_of(self, process_round: int) -> float:
        """Returns the time at which a round of the availability process begins, seconds."""
        return (process_round - 1) * self.period

    def available(self, process_round: int) -> np.ndarray:
        """Returns the available clients, `bool [N]`; earlier masks are dropped."""
        self.world.masks.forget_before(process_round)
        return self.world.masks.mask(process_round)

    def finish(self, round_number: int, ids: np.ndarray, at: float) -> Finish:
        """Returns when clients that start in a round finish; a pure function of its arguments.

        Args:
            round_number: Round t, from 1.
            ids: Clients, available now, `int64 [m]`.
            at: Time of the start, seconds.
        """
        needed = self.seconds(round_number, ids)
        if self.async_leavers == "stay":
            return Finish(at + needed, np.ones(len(ids), bool))
        first = self.round_at(at)
        left, seconds, arrives = needed.copy(), np.full(len(ids), np.inf), np.zeros(len(ids), bool)
        busy, begin, there = np.ones(len(ids), bool), at, np.ones(len(ids), bool)
        for process_round in range(first, first + self.async_most_periods):
            end = self.begin_of(process_round + 1)
            if process_round > first:
                there = self.world.masks.mask(process_round)[ids]
            if self.async_leavers == "lost":
                gone = busy & ~there
                seconds[gone], busy = begin, busy & ~gone
            done = busy & there & (left <= end - begin)
            # The time itself if the client never paused, free of the rounding of sums.
            seconds[done] = np.where(left == needed, at + needed, begin + left)[done]
            arrives |= done
            busy &= ~done
            if not busy.any():
                break
            left = np.where(there, left - (end - begin), left)
            begin = end
        seconds[busy] = begin
        return Finish(seconds, arrives)

    def arrivals(self, round_number: int, ids: np.ndarray) -> Arrivals:
        """Returns the times of clients that start together and stay available."""
        seconds = self.seconds(round_number, ids)
        nobody_lost, in_time = np.ones(len(ids), bool), np.zeros(len(ids), np.int64)
        return Arrivals(nobody_lost, seconds, float(seconds.max(initial=0)), rounds=in_time)

    def asking(self, constraint: CommunicationConstraint, num_clients: int) -> AtWork:
        return AtWork(constraint, min(self.buffer, num_clients))

    def check(self, settings: Settings) -> None:
        super().check(settings)
        if settings.selection.client_share_of == "present":
            allowed = "must be all with delivery=asynchronous: rounds have no time of their own"
            raise ParameterError("client_share_of", "present", allowed)
        size = settings.buffer_size
        if size not in (None, self.buffer):
            allowed = f"must be buffer_size, {size}: the method steps once so many updates are here"
            raise ParameterError("async_buffer", self.buffer, allowed)
