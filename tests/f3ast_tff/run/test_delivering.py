"""Between selection and aggregation of a round: lost clients leave no trace in the model."""

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
from f3ast_tff.methods.parts.strategy import BaseStrategy, Cohort, Outcome, Round
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
