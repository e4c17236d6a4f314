"""Updates in flight, by hand: asked clients, entering updates, slots."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.core.errors import ComponentError
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.delivery import Arrivals
from f3ast_tff.engines.engine import LateCohort
from f3ast_tff.methods.parts.late import Admitted
from f3ast_tff.methods.parts.strategy import BaseStrategy, Cohort, Round
from f3ast_tff.methods.parts.wrappers import Separated
from f3ast_tff.records.delivered import RoundDelivery
from f3ast_tff.records.history import SelectionHistory
from f3ast_tff.run.delivering import Payload
from f3ast_tff.run.in_flight import InFlight

N = 5
LOST = -1


class Delays:
    """A delivery with a given tau for each asked client; -1 for a lost update."""

    is_late = True

    def __init__(self, tau: list[int]) -> None:
        self.tau = np.array(tau, np.int64)

    def arrivals(self, round_number: int, ids: np.ndarray) -> Arrivals:
        lost = self.tau == LOST
        nothing = np.full(len(ids), np.nan)
        return Arrivals(~lost, nothing, np.nan, rounds=np.where(lost, 2, self.tau))


class Told(BaseStrategy):
    """Weighs by ids + 1; accepts the given updates, by default all."""

    def __init__(self, *taken: Admitted) -> None:
        self.taken_in = list(taken)
        self.weighed: list[tuple[list[int], list[int]]] = []

    def select(self, now: Round) -> np.ndarray:
        return np.flatnonzero(now.available)

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        assert now.asked_in is not None
        self.weighed.append((ids.tolist(), now.asked_in.tolist()))
        return Cohort(ids[delivered], ids[delivered] + 1.0)


class Choosy(Told):
    def admit(self, now: Round, asked_in: np.ndarray) -> Admitted:
        return self.taken_in.pop(0)


def now(t: int) -> Round:
    return Round(t, np.ones(N, bool), RoundConstraint(N))


def play(
    flying: InFlight, strategy: BaseStrategy, t: int, ids: list[int], tau: list[int]
) -> RoundDelivery:
    asked = np.array(ids, np.int64)
    return flying.deliver(Delays(tau), strategy, Payload(100, 10), now(t), asked, [], N)


def took(delivered_round: RoundDelivery) -> list[tuple[int, int, int]]:
    """Client, slot and round of asking of each update that enters."""
    assert delivered_round.late is not None
    cohort = delivered_round.cohort
    assert isinstance(cohort, LateCohort)
    columns = (cohort.ids, cohort.entering, cohort.asked_in)
    return list(zip(*(column.tolist() for column in columns)))


def test_updates_enter_when_they_arrive_by_hand() -> None:
    """Round 1 asks 0, 1, 2 with tau 0, 2, 1 into slots 0, 1, 2; client 0 enters at once.

    Round 2: slot 0 is free again. Clients 1 and 2 are busy, and 2 arrives in this round. Client 3
    is asked with tau 1 and takes slot 0; client 2 enters.

    Round 3: clients 1 and 3 enter. Bytes up count when updates arrive.
    """
    flying, strategy, history = InFlight(), Told(), SelectionHistory()
    first = play(flying, strategy, 1, [0, 1, 2], [0, 2, 1])
    assert took(first) == [(0, 0, 1)]
    assert isinstance(first.cohort, LateCohort) and first.cohort.slots.tolist() == [0, 1, 2]
    assert first.late.in_flight == 2 and (first.bytes_down, first.bytes_up) == (300, 10)
    assert flying.free(np.ones(N, bool), 2).tolist() == [True, False, False, True, True]
    second = play(flying, strategy, 2, [3], [1])
    assert isinstance(second.cohort, LateCohort) and second.cohort.slots.tolist() == [0]
    assert took(second) == [(2, 2, 1)] and strategy.weighed[1] == ([3, 2], [2, 1])
    assert second.late.staleness(2).tolist() == [1] and second.bytes_up == 10
    assert second.delivered.tolist() == [False]
    third = play(flying, strategy, 3, [], [])
    assert took(third) == [(1, 1, 1), (3, 0, 2)] and third.bytes_up == 20
    assert third.late is not None and third.late.staleness(3).tolist() == [2, 1]
    assert third.late.in_flight == 0 and third.cohort.weights.tolist() == [2.0, 4.0]
    for delivered_round in (first, second, third):
        history.append(delivered_round, 0, False)
    record = history.arrays()
    assert record["num_selected"].tolist() == [3, 1, 0]
    assert record["num_delivered"].tolist() == [1, 1, 2] and history.num_lost == 0
    assert record["late_clients"].tolist() == [[-1, -1], [2, -1], [1, 3]]
    assert record["late_asked_in"].tolist() == [[-1, -1], [1, -1], [1, 2]]
    assert record["weight_sum"].tolist() == [1.0, 3.0, 6.0]
    again = SelectionHistory()
    again.restore(record)
    for name, array in again.arrays().items():
        np.testing.assert_array_equal(array, record[name])


def test_lost_updates_are_not_trained_and_given_up_later() -> None:
    """Lost at tau above 2: the client is busy for two rounds without a slot, and counts then."""
    flying, strategy = InFlight(), Told()
    first = play(flying, strategy, 1, [4, 0], [LOST, 1])
    assert isinstance(first.cohort, LateCohort) and first.cohort.asked.tolist() == [0]
    assert first.late.lost == 0 and first.late.in_flight == 1
    second = play(flying, strategy, 2, [], [])
    assert second.late is not None and second.late.lost == 0
    assert flying.free(np.ones(N, bool), 3).tolist() == [True] * 4 + [False]
    third = play(flying, strategy, 3, [], [])
    assert third.late is not None and third.late.lost == 1
    assert flying.free(np.ones(N, bool), 4).all()


def test_staleness_weights() -> None:
    """Client 1 has weight 2 and arrives three rounds late: 2 / sqrt(1 + 3)."""
    flying, strategy = InFlight("root"), Told()
    play(flying, strategy, 1, [1], [3])
    for t in (2, 3):
        assert took(play(flying, strategy, t, [], [])) == []
    assert play(flying, strategy, 4, [], []).cohort.weights.tolist() == [1.0]


def test_a_server_may_wait_or_drop() -> None:
    """Client 0 waits in round 1 and is free in round 2; then it enters, and client 1 is dropped."""
    wait = Admitted(np.array([False, False]), np.array([False, False]))
    flying = InFlight()
    strategy = Choosy(wait, Admitted(np.array([True, False]), np.array([False, True])))
    play(flying, strategy, 1, [0, 1], [0, 0])
    assert flying.free(np.ones(N, bool), 2).all()
    second = play(flying, strategy, 2, [], [])
    assert took(second) == [(0, 0, 1)]
    assert second.late is not None and (second.late.lost, second.late.in_flight) == (1, 0)


def test_a_client_drawn_twice_trains_once() -> None:
    flying = InFlight()
    first = play(flying, Told(), 1, [2, 3, 2], [0, 1, 0])
    assert isinstance(first.cohort, LateCohort) and first.cohort.asked.tolist() == [2, 3]
    assert took(first) == [(2, 0, 1), (2, 0, 1)] and first.late.in_flight == 1
    assert (first.bytes_down, first.bytes_up) == (200, 10)


def test_entries_survive_a_restart() -> None:
    flying = InFlight()
    play(flying, Told(), 1, [0, 1, 2], [0, 2, 1])
    again = InFlight()
    again.restore(flying.arrays())
    one, other = (took(play(f, Told(), 2, [3], [0])) for f in (flying, again))
    assert one == other == [(3, 0, 2), (2, 2, 1)]


def test_a_client_rests_from_the_round_that_it_was_selected_in() -> None:
    """Separation 2: asked in round 1, free in round 4, although its update arrives in round 3."""
    flying, strategy = InFlight(), Separated(Told(), 2, N)
    for t, ids, tau in ((1, [0], [2]), (2, [], []), (3, [], [])):
        play(flying, strategy, t, ids, tau)
    assert 0 in strategy.select(now(4)).tolist()


def test_wrong_answers_are_named() -> None:
    flying = InFlight()
    with pytest.raises(ComponentError, match=r"admit in round 1 must return Admitted.*bool \[1\]"):
        play(flying, Choosy(Admitted(np.ones(2, bool), np.zeros(2, bool))), 1, [0], [0])
    with pytest.raises(ComponentError, match="has rounds"):
        play(InFlight(), Told(), 1, [0], [-3])
