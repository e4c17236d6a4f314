"""Between selection and aggregation of a round: lost clients, and updates in flight by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from f3ast_tff.availability import IndependentAvailability
from f3ast_tff.core.errors import ComponentError
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.delivery import Arrivals, Certain
from f3ast_tff.engines.engine import LateCohort
from f3ast_tff.methods.parts.late import Admitted
from f3ast_tff.methods.parts.strategy import BaseStrategy, Cohort, Outcome, Round
from f3ast_tff.methods.parts.wrappers import Separated
from f3ast_tff.records.delivered import RoundDelivery
from f3ast_tff.records.history import SelectionHistory
from f3ast_tff.run.delivering import Payload, deliver
from f3ast_tff.run.in_flight import InFlight
from tests.f3ast_tff.run.small_run import STRATEGIES, Learner, N, half_lost, run, selection


class Fate:
    """A delivery with fixed answers."""

    def __init__(self, delivered: list[bool], seconds: float = 5.0) -> None:
        self.delivered, self.seconds = np.array(delivered, bool), seconds

    def arrivals(self, round_number: int, ids: np.ndarray) -> Arrivals:
        return Arrivals(self.delivered, np.ones(len(self.delivered)), self.seconds)


NOW = Round(2, np.ones(5, bool), RoundConstraint(5))


@pytest.mark.parametrize("block_rounds", [1, 100])
@pytest.mark.parametrize("name", STRATEGIES)
def test_engine_gets_those_delivered_once_and_nobody_else(
    name: str, block_rounds: int, with_delivery: Callable[[str, str], Path]
) -> None:
    """A lost update never enters, in its round or later; blocks change nothing."""
    result, engine, _ = run(None, STRATEGIES[name], delivery=half_lost(), block_rounds=block_rounds)
    record = result.selection
    assert record["num_delivered"].sum() < record["num_selected"].sum()
    for row, trained in enumerate(engine.cohorts):
        came = record["delivered"][row]
        assert trained.ids.tolist() == record["selected"][row][came].tolist()
        assert trained.weights.tolist() == record["weights"][row][came].tolist()
        assert not record["weights"][row][~came].any()
    blocks = [last - first for first, last in engine.blocks]
    ahead = name not in ("learner", "power_of_choice") and block_rounds > 1
    assert (max(blocks) > 0) == ahead
    for key, array in selection(with_delivery(name, "half_lost")).items():
        np.testing.assert_array_equal(array, record[key])


def test_metrics_sum_bytes_and_seconds_up(tmp_path: Path) -> None:
    """100 bytes down per asked client, 10 up per delivered client."""
    result, _, _ = run(tmp_path, STRATEGIES["f3ast"], delivery=half_lost())
    record = result.selection
    for row in result.rows:
        so_far = slice(int(row["round"]))
        assert row["bytes_down"] == 100 * record["num_selected"][so_far].sum()
        assert row["bytes_up"] == 10 * record["num_delivered"][so_far].sum()
        assert row["simulated_seconds"] == pytest.approx(record["round_seconds"][so_far].sum())
    assert result.rows[-1]["simulated_seconds"] > 0
    lost = record["num_selected"].sum() - record["num_delivered"].sum()
    assert result.summary["lost_updates"] == lost > 0


def test_clients_asked_for_their_loss_get_the_model_too() -> None:
    """Power-of-Choice asks up to 3 candidates and trains 2 of them."""
    result, _, _ = run(None, STRATEGIES["power_of_choice"])
    available = result.selection["num_available"]
    assert result.selection["bytes_down"].tolist() == (100 * np.minimum(available, 3)).tolist()


def test_who_learns_from_outcomes_learns_who_is_lost() -> None:
    learner = Learner()
    result, _, _ = run(None, lambda: learner, delivery=half_lost())
    for t, outcome in learner.observed:
        record = result.selection
        there = record["selected"][t - 1] >= 0
        assert outcome.ids.tolist() == record["selected"][t - 1][there].tolist()
        assert outcome.delivered.tolist() == record["delivered"][t - 1][there].tolist()
        np.testing.assert_array_equal(np.isnan(outcome.losses), ~outcome.delivered)


def test_round_in_which_all_are_lost_is_said(caplog: pytest.LogCaptureFixture) -> None:
    result, _, _ = run(None, STRATEGIES["f3ast"], delivery=half_lost())
    record = result.selection
    all_lost = (record["num_delivered"] == 0) & (record["num_selected"] > 0)
    assert all_lost.any()
    # The warning comes for the first such round only.
    says = f"round {np.argmax(all_lost) + 1}: no update of 2 clients was delivered"
    assert says in caplog.text and caplog.text.count("no update of") == 1
    assert result.summary["empty_rounds"] == (record["num_delivered"] == 0).sum()


def test_one_drawn_twice_counts_once_in_bytes() -> None:
    found = deliver(Certain(), BaseStrategy(), Payload(7, 3), NOW, np.array([4, 4, 2]), [], 5)
    assert (found.bytes_down, found.bytes_up) == (14, 6)
    scored, ids = [np.array([1, 2]), np.array([0])], np.array([4, 2])
    found = deliver(Fate([False, True]), BaseStrategy(), Payload(7, 3), NOW, ids, scored, 5)
    assert (found.bytes_down, found.bytes_up) == (28, 3)


@pytest.mark.parametrize(
    ("delivery", "message"),
    [
        (
            Fate([True]),
            r"delivery Fate: arrivals\(2\) has delivered of bool \[1\]: must be bool \[2\]",
        ),
        (Fate([True, True], -1.0), "has a round of -1.0 s: must be finite"),
        (Fate([True, True], np.inf), "has a round of inf s: must be finite"),
    ],
)
def test_broken_deliveries_are_named(delivery: Any, message: str) -> None:
    with pytest.raises(ComponentError, match=message):
        deliver(delivery, BaseStrategy(), Payload(), NOW, np.array([3, 1]), [], 5)


def test_certain_delivery_has_no_clock() -> None:
    result, _, _ = run(None, STRATEGIES["f3ast"])
    assert np.isnan(result.selection["round_seconds"]).all()
    assert np.isnan(result.rows[-1]["simulated_seconds"])
    assert result.summary["lost_updates"] == 0


class Falsifies(BaseStrategy):
    """Selects the first two available clients, and writes into what it was handed."""

    needs_outcome = True

    def __init__(self, where: str) -> None:
        self.where = where

    def select(self, now: Round) -> np.ndarray:
        if self.where == "available":
            now.available[...] = True
        return np.flatnonzero(now.available)[:2]

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        cohort = Cohort(ids[delivered], np.ones(np.count_nonzero(delivered)))
        if self.where in ("ids", "delivered"):
            {"ids": ids, "delivered": delivered}[self.where][...] = 0
        if self.where == "asked_in":
            assert now.asked_in is not None
            now.asked_in[...] = 1
        return cohort

    def observe(self, round_number: int, outcome: Outcome) -> None:
        if self.where.startswith("outcome."):
            getattr(outcome, self.where.partition(".")[2])[...] = 0


@pytest.mark.parametrize(
    "where", ["available", "ids", "delivered", "outcome.ids", "outcome.delivered", "outcome.losses"]
)
def test_a_strategy_cannot_falsify_records(where: str) -> None:
    with pytest.raises(ValueError, match="read-only"):
        run(None, lambda: Falsifies(where), delivery=half_lost())


def test_a_strategy_cannot_falsify_when_a_late_update_was_asked_for() -> None:
    now = Round(1, np.ones(5, bool), RoundConstraint(5))
    fate = Fate([True, True, False])
    arrivals = replace(fate.arrivals(1, np.arange(3)), rounds=np.zeros(3, np.int64))
    late = SimpleNamespace(is_late=True, arrivals=lambda t, ids: arrivals)
    with pytest.raises(ValueError, match="read-only"):
        InFlight().deliver(late, Falsifies("asked_in"), Payload(), now, np.arange(3), [], 5)


def test_arrays_that_a_strategy_keeps_and_changes_later_are_its_own() -> None:
    """Rounds are selected ahead, and trained and recorded afterwards."""

    class Reuses(BaseStrategy):
        def __init__(self) -> None:
            self.ids, self.weights = np.arange(2), np.ones(2)

        def select(self, now: Round) -> np.ndarray:
            self.ids[:] = (np.flatnonzero(now.available)[:2] + now.number) % len(now.available)
            return self.ids

        def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
            self.weights[:] = now.number
            return Cohort(self.ids, self.weights)

    always = IndependentAvailability(np.ones(N), seed=1)
    result, engine, _ = run(None, Reuses, block_rounds=100, availability=always)
    for row, cohort in enumerate(engine.cohorts):
        expected = [(client + row + 1) % N for client in (0, 1)]
        assert cohort.ids.tolist() == expected == result.selection["selected"][row].tolist()
        assert cohort.weights.tolist() == 2 * [row + 1]
        assert result.selection["weights"][row].tolist() == 2 * [row + 1]


CLIENTS = 5
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

    def select(self, at_round: Round) -> np.ndarray:
        return np.flatnonzero(at_round.available)

    def weigh(self, at_round: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        assert at_round.asked_in is not None
        self.weighed.append((ids.tolist(), at_round.asked_in.tolist()))
        return Cohort(ids[delivered], ids[delivered] + 1.0)


class Choosy(Told):
    def admit(self, at_round: Round, asked_in: np.ndarray) -> Admitted:
        return self.taken_in.pop(0)


def at_round(t: int) -> Round:
    return Round(t, np.ones(CLIENTS, bool), RoundConstraint(CLIENTS))


def play(
    flying: InFlight, strategy: BaseStrategy, t: int, ids: list[int], tau: list[int]
) -> RoundDelivery:
    asked = np.array(ids, np.int64)
    return flying.deliver(Delays(tau), strategy, Payload(100, 10), at_round(t), asked, [], CLIENTS)


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
    assert flying.free(np.ones(CLIENTS, bool), 2).tolist() == [True, False, False, True, True]
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
    assert flying.free(np.ones(CLIENTS, bool), 3).tolist() == [True] * 4 + [False]
    third = play(flying, strategy, 3, [], [])
    assert third.late is not None and third.late.lost == 1
    assert flying.free(np.ones(CLIENTS, bool), 4).all()


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
    assert flying.free(np.ones(CLIENTS, bool), 2).all()
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
    flying, strategy = InFlight(), Separated(Told(), 2, CLIENTS)
    for t, ids, tau in ((1, [0], [2]), (2, [], []), (3, [], [])):
        play(flying, strategy, t, ids, tau)
    assert 0 in strategy.select(at_round(4)).tolist()


def test_wrong_answers_of_late_deliveries_are_named() -> None:
    flying = InFlight()
    with pytest.raises(ComponentError, match=r"admit in round 1 must return Admitted.*bool \[1\]"):
        play(flying, Choosy(Admitted(np.ones(2, bool), np.zeros(2, bool))), 1, [0], [0])
    with pytest.raises(ComponentError, match="has rounds"):
        play(InFlight(), Told(), 1, [0], [-3])
