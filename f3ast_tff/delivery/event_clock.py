"""The clock of asynchronous training: a queue of events, without a model."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.delivery.asynchronous import Asynchronous

# Place of an update that never arrives.
NOWHERE = -1
# Limit on the periods of one client's work: the clock looks at each for free clients.
_MOST_PERIODS = 10**6


class Work(NamedTuple):
    """A client at work, or its update that waits at the server; sorted by arrival.

    Attributes:
        seconds: Time at which the update arrives or is lost.
        number: Number of the start, from 0; decides between equal times.
        client: The client.
        asked_in: Round in which it started.
        slot: Place of its update in the engine's memory; `NOWHERE` for a lost update.
        draws: Number of times that the client was drawn in that round.
    """

    seconds: float
    number: int
    client: int
    asked_in: int
    slot: int
    draws: int


class Played(NamedTuple):
    """Events of a round.

    Attributes:
        num_available: Clients available when the round began.
        asked: Selected clients in order of selection, a client drawn twice twice, `int64 [a]`.
        started: The clients that started and whose update will arrive.
        here: Updates at the server, in order of arrival, those of earlier rounds first.
        acts: Whether the server acts: enough updates are here, or nobody else is at work.
        lost: Number of draws whose update was lost in the round.
        arrived: Number of updates that arrived in the round.
        seconds: Duration of the round.
    """

    num_available: int
    asked: np.ndarray
    started: list[Work]
    here: list[Work]
    acts: bool
    lost: int
    arrived: int
    seconds: float


# Chooses clients: free clients `bool [N]`, largest number, number of earlier requests in the round.
Choose = Callable[[np.ndarray, int, int], np.ndarray]


class EventClock:
    """Starts, arrivals and losses in order of time; the time per event does not grow.

    Round t lasts from the server's action t - 1 to its action t. Clients that start in it get the
    same model, so a client starts at most once per round. Of events at one time, arrivals come
    first, in the order of their starts, then the server's action if M updates are here, then
    starts.

    Attributes:
        seconds: Time now.
    """

    def __init__(self, times: Asynchronous, num_clients: int) -> None:
        """Starts at time 0 with nobody at work."""
        self._times = times
        self.seconds = 0.0
        self._queue: list[Work] = []
        self._here: list[Work] = []
        self._idle = np.ones(num_clients, bool)
        self._started = 0
        self._free_slots: list[int] = []
        self._num_slots = 0

    def play(self, round_number: int, most: int, choose: Choose) -> Played:
        """Plays round t up to the server's action.

        Args:
            round_number: Round t.
            most: K_t, largest number of clients at work.
            choose: Selects clients.

        Raises:
            ParameterError: If a client is at work for more than a million periods.
        """
        times, at_once = self._times, self._times.async_starts == "at_once"
        needed = max(1, times.buffer - len(self._here))
        begun, process_round = self.seconds, times.round_at(self.seconds)
        num_available = int(np.count_nonzero(times.available(process_round)))
        asked: list[np.ndarray] = []
        started: list[Work] = []
        busy_since: list[int] = []
        arrived = lost = 0
        acts = False
        requests = 0
        while not acts:
            room = most - len(self._queue)
            if room > 0 and (at_once or not requests):
                free = times.available(process_round) & self._idle
                # While nobody is there, periods pass without a choice.
                asks = free.any() or not requests
                ids = choose(free, room, requests) if asks else np.zeros(0, np.int64)
                requests += 1
                if len(ids):
                    asked.append(ids)
                    started += self._start(round_number, ids)
                    room = most - len(self._queue)
            begin_of_next = times.begin_of(process_round + 1)
            if not self._queue:
                acts = not at_once and arrived > 0
                if at_once or not asked:
                    # Nobody can work before the next round of the availability process.
                    self.seconds = begin_of_next
                break
            if at_once and room > 0 and begin_of_next < self._queue[0].seconds:
                self.seconds, process_round = begin_of_next, process_round + 1
                continue
            self.seconds = max(self.seconds, self._queue[0].seconds)
            process_round = max(process_round, times.round_at(self.seconds))
            while self._queue and self._queue[0].seconds <= self.seconds and arrived < needed:
                work = heapq.heappop(self._queue)
                if work.slot == NOWHERE:
                    lost += work.draws
                    self._release(work, round_number, busy_since)
                else:
                    arrived += 1
                    self._here.append(work)
            acts = arrived >= needed
        self._idle[busy_since] = True
        return Played(
            num_available=num_available,
            asked=np.concatenate(asked) if asked else np.zeros(0, np.int64),
            started=[work for work in started if work.slot != NOWHERE],
            here=list(self._here),
            acts=acts,
            lost=lost,
            arrived=arrived,
            seconds=self.seconds - begun,
        )

    def _release(self, work: Work, round_number: int, busy_since: list[int]) -> None:
        """Frees a lost client, at the end of the round if it started in this round."""
        if work.asked_in == round_number:
            busy_since.append(work.client)
        else:
            self._idle[work.client] = True

    def _start(self, round_number: int, ids: np.ndarray) -> list[Work]:
        """Starts clients, each once, in the order of their ids."""
        clients, draws = np.unique(ids, return_counts=True)
        found = self._times.finish(round_number, clients, self.seconds)
        periods = (found.seconds - self.seconds) / self._times.period
        if (longest := periods.max(initial=0)) > _MOST_PERIODS:
            who = f"client {clients[periods.argmax()]} of round {round_number}"
            said = f"must be longer: {who} works for {longest:.3g} periods, above {_MOST_PERIODS}"
            raise ParameterError("async_period_seconds", f"{self._times.period:.3g}", said)
        started = []
        for client, count, end, arrives in zip(
            clients.tolist(), draws.tolist(), found.seconds.tolist(), found.arrives.tolist()
        ):
            slot = self._free_slot() if arrives else NOWHERE
            started.append(Work(end, self._started, client, round_number, slot, count))
            heapq.heappush(self._queue, started[-1])
            self._started += 1
        self._idle[clients] = False
        return started

    def _free_slot(self) -> int:
        if self._free_slots:
            return heapq.heappop(self._free_slots)
        self._num_slots += 1
        return self._num_slots - 1

    def take(self, gone: list[Work]) -> None:
        """Removes updates that entered or were dropped; their clients and places are free."""
        numbers = {work.number for work in gone}
        self._here = [work for work in self._here if work.number not in numbers]
        for work in gone:
            self._idle[work.client] = True
            heapq.heappush(self._free_slots, work.slot)

    @property
    def in_flight(self) -> int:
        """Number of updates under way, and of those that wait at the server."""
        return self._num_slots - len(self._free_slots)

    def arrays(self) -> dict[str, np.ndarray]:
        """Returns the state for a checkpoint."""
        works = [*self._here, *sorted(self._queue)]
        columns = np.array([work[1:] for work in works], np.int64).reshape(-1, 5)
        return {
            "clock": np.array(self.seconds),
            "work_seconds": np.array([work.seconds for work in works], np.float64),
            "work": columns,
            "counts": np.array([len(self._here), self._started, self._num_slots]),
        }

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Restores a result of `arrays`."""
        self.seconds = float(arrays["clock"])
        rows = zip(arrays["work_seconds"].tolist(), arrays["work"].tolist())
        works = [Work(seconds, *row) for seconds, row in rows]
        here, self._started, self._num_slots = arrays["counts"].tolist()
        # Sorted, so a heap.
        self._here, self._queue = works[:here], works[here:]
        self._idle[:] = True
        self._idle[[work.client for work in works]] = False
        used = {work.slot for work in works}
        self._free_slots = [slot for slot in range(self._num_slots) if slot not in used]
