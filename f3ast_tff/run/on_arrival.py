"""Rounds of asynchronous training: each ends when the server acts on what has arrived."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.delivery.event_clock import EventClock, Played, Work
from f3ast_tff.engines.engine import LateCohort
from f3ast_tff.methods.parts.late import staleness_weight
from f3ast_tff.methods.parts.strategy import Round
from f3ast_tff.records.delivered import LateRound, RoundDelivery
from f3ast_tff.run.delivering import distinct_clients
from f3ast_tff.run.experiment import AskLosses, Experiment
from f3ast_tff.run.in_flight import taken
from f3ast_tff.run.selecting import constraint_of, read_only, select_clients, weigh_selected


class OnArrival:
    """The clock of events, as the round loop uses it: its actions are the rounds.

    Clients that start in round t train at its model, whose update the engine keeps in a slot until
    the round in which it enters. Staleness counts rounds, which are the server's actions.

    Attributes:
        clock: The clock, after the last round.
    """

    is_late: ClassVar[bool] = True

    def __init__(self, parts: Experiment, weight: str = "constant") -> None:
        """Starts at time 0; `weight` is the factor of late weights, see `staleness_weight`."""
        times: Any = parts.delivery
        self._weight = weight
        self.clock = EventClock(times, parts.num_clients)

    def plan(self, parts: Experiment, t: int, losses: AskLosses) -> RoundDelivery:
        """Plays the events of round t and weighs the updates that enter."""
        scored: list[np.ndarray] = []
        limit, ask = constraint_of(parts.constraint, t), losses(t, scored)
        begun = np.zeros(parts.num_clients, bool)

        def choose(free: np.ndarray, most: int, request: int) -> np.ndarray:
            nonlocal begun
            now = Round(t, read_only(free), replace(limit, k=most), ask, request=request)
            begun = now.available if request == 0 else begun
            return select_clients(parts.strategy, now)

        played = self.clock.play(t, limit.k, choose)
        # A step is of M updates, so K_t of its weights is M.
        step = replace(limit, k=parts.constraint.largest_k)  # type: ignore[attr-defined]
        now = Round(t, begun, step, ask)
        return self._delivered(parts, now, played, scored)

    def _delivered(
        self, parts: Experiment, now: Round, played: Played, scored: Sequence[np.ndarray]
    ) -> RoundDelivery:
        t, here = now.number, played.here
        asked_in = np.array([work.asked_in for work in here], np.int64)
        enters, dropped = np.zeros((2, len(here)), bool)
        if played.acts:
            enters, dropped = taken(parts.strategy, now, asked_in)
        entering = [work for work, enter in zip(here, enters) if enter]
        gone = [work for work, drop in zip(here, dropped) if drop]
        # The selected clients first, then the clients of earlier rounds whose update is here.
        earlier = np.flatnonzero(asked_in < t)
        draws = np.array([here[i].draws for i in earlier], np.int64)
        older = np.repeat(np.array([here[i].client for i in earlier], np.int64), draws)
        of_now = [work.client for work in entering if work.asked_in == t]
        ids = np.concatenate([played.asked.astype(np.int64), older])
        delivered = np.isin(played.asked, of_now)
        entered = np.concatenate([delivered, np.repeat(enters[earlier], draws)])
        all_asked_in = np.concatenate(
            [np.full(len(played.asked), t, np.int64), np.repeat(asked_in[earlier], draws)]
        )
        cohort = weigh_selected(
            parts.strategy,
            now=replace(now, asked_in=read_only(all_asked_in)),
            ids=ids,
            delivered=entered,
        )
        took = all_asked_in[entered]
        slots = {(work.client, work.asked_in): work.slot for work in entering}
        pairs = zip(cohort.ids.tolist(), took.tolist())
        starts, places = _started(played.started)
        late_cohort = LateCohort.of(
            cohort,
            staleness_weight(self._weight, t - took),
            asked=starts,
            slots=places,
            entering=np.array([slots[pair] for pair in pairs], np.int64),
            asked_in=took,
        )
        self.clock.take([*entering, *gone])
        return RoundDelivery(
            num_available=played.num_available,
            asked=played.asked,
            delivered=delivered,
            cohort=late_cohort,
            seconds=played.seconds,
            bytes_down=parts.payload.bytes_down * distinct_clients([played.asked, *scored]),
            bytes_up=parts.payload.bytes_up * played.arrived,
            late=LateRound(
                ids=ids,
                entered=entered,
                asked_in=all_asked_in,
                lost=played.lost + sum(work.draws for work in gone),
                in_flight=self.clock.in_flight,
            ),
        )

    def arrays(self) -> dict[str, np.ndarray]:
        """Returns the clock's state for a checkpoint."""
        return self.clock.arrays()

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Restores a result of `arrays`."""
        self.clock.restore(arrays)


def _started(started: Sequence[Work]) -> np.ndarray:
    """Clients that train and their slots, `int64 [2, a]`, by client, as engines train a cohort."""
    rows = sorted((work.client, work.slot) for work in started)
    return np.array(rows, np.int64).reshape(-1, 2).T
