"""The round loop, with an engine that needs no framework."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from f3ast_tff.core.errors import ComponentError
from f3ast_tff.core.rates import ParticipationRates
from f3ast_tff.engines.engine import RoundOutcome
from f3ast_tff.methods.parts.strategy import BaseStrategy, Cohort, Round, Strategy
from f3ast_tff.records.metrics import Row
from f3ast_tff.run.selecting import constraint_of
from tests.f3ast_tff.run.small_run import (
    BETA,
    ROUNDS,
    STRATEGIES,
    Learner,
    N,
    P,
    Sometimes,
    assert_same_results,
    csv_without_seconds,
    run,
    selection,
)
from tests.fake_engine import Breakdown


def test_evaluates_every_so_often_and_in_the_last_round(tmp_path: Path) -> None:
    _, _, progress = run(tmp_path, STRATEGIES["proportional"])
    assert [line[0] for line in csv_without_seconds(tmp_path)] == ["round", "3", "6", "7"]
    assert [t for t, _ in progress.rows] == [1, 2, 3, 4, 5, 6, 7]
    assert [row["round"] for _, row in progress.rows if row] == [3, 6, 7]
    assert progress.first_rounds == [1]


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=STRATEGIES)
def test_empty_rounds_leave_the_model_alone_and_are_counted(
    strategy: Callable[[], Strategy], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    result, engine, _ = run(tmp_path, strategy)
    summary = result.summary
    record = selection(tmp_path)
    empty = np.flatnonzero(record["num_selected"] == 0) + 1
    assert {3, ROUNDS} <= set(empty.tolist())
    assert engine.rounds_run == [t for t in range(1, ROUNDS + 1) if t not in empty]
    assert summary["empty_rounds"] == len(empty)
    assert summary["rejected_rounds"] == summary["dropped_updates"] == 0
    assert summary["rounds"] == ROUNDS
    assert summary["engine"] == "fake"
    # The warning comes for the first such round only.
    says = f"round {empty[0]}: no client available, model left alone"
    assert says in caplog.text and caplog.text.count("no client available") == 1
    last = csv_without_seconds(tmp_path)[-1]
    assert last[1] == "nan"
    assert (last[-7:-4], last[-2:]) == (["0", "0", "0"], ["nan", "0.0"])
    assert json.loads((tmp_path / "summary.json").read_text())["final"]["train_loss"] is None


def test_strategies_see_the_availability_and_k(tmp_path: Path) -> None:
    run(tmp_path, STRATEGIES["f3ast"])
    record = selection(tmp_path)
    masks = [Sometimes(np.full(N, 0.5), seed=1).mask(t) for t in range(1, ROUNDS + 1)]
    assert record["num_available"].tolist() == [mask.sum() for mask in masks]
    assert record["num_selected"].tolist() == [min(2, mask.sum()) for mask in masks]
    for ids, mask in zip(record["selected"], masks):
        assert mask[ids[ids >= 0]].all()
    rates = ParticipationRates(np.full(N, 0.5), BETA)
    for ids in record["selected"]:
        rates.update(ids[ids >= 0])
    np.testing.assert_array_equal(record["final_rates"], rates.values)


def test_run_holds_shares_rates_and_sums_of_weights(tmp_path: Path) -> None:
    """Rates after the evaluated rounds 3, 6 and 7, by eq. (5); an empty round decays them."""
    run(tmp_path, STRATEGIES["f3ast"], block_rounds=100)
    record = selection(tmp_path)
    np.testing.assert_array_equal(record["p"], P)
    assert record["p"].dtype == np.float64
    by_hand = [np.full(N, 0.5)]
    for ids in record["selected"]:
        there = np.isin(np.arange(N), ids)
        by_hand.append((1 - BETA) * by_hand[-1] + BETA * there)
    np.testing.assert_array_equal(record["initial_rates"], by_hand[0])
    assert record["rate_rounds"].tolist() == [3, 6, 7]
    assert (record["rates"].dtype, record["rates"].shape) == (np.float32, (3, N))
    np.testing.assert_allclose(record["rates"], np.array(by_hand)[[3, 6, 7]], rtol=1e-6)
    sums = [
        sum(P[k] / by_hand[t][k] for k in ids if k >= 0)
        for t, ids in enumerate(record["selected"], start=1)
    ]
    np.testing.assert_allclose(record["weight_sum"], sums, rtol=1e-12)
    assert record["weight_sum"][[2, 6]].tolist() == [0, 0]


def test_strategy_without_rates_leaves_none(undisturbed: dict[str, Path]) -> None:
    names = selection(undisturbed["proportional"]).keys()
    assert {"p", "weight_sum"} <= names
    assert not {"initial_rates", "rate_rounds", "rates"} & names


def test_empty_round_in_which_the_model_moves_is_logged_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A memory causes such rounds, see `Memory.steps`: they are empty, but not rejected."""
    moved = RoundOutcome(float("nan"), 0.5)
    monkeypatch.setattr("tests.fake_engine.empty_round", lambda by_client: moved)
    result, _, _ = run(tmp_path, STRATEGIES["proportional"])
    empty = result.selection["num_selected"] == 0
    assert not result.selection["rejected"].any()
    assert result.summary["empty_rounds"] == empty.sum() >= 2
    assert result.summary["rejected_rounds"] == 0
    assert "model left alone" not in caplog.text
    says = "round 3: no client available, step along the remembered updates"
    assert says in caplog.text
    assert csv_without_seconds(tmp_path)[-1][-1] == "0.5"


class NotedScalars:
    """A logger that takes notes."""

    def __init__(self) -> None:
        self.begun = 0
        self.added: list[tuple[int, dict[str, float]]] = []
        self.closed: list[bool] = []

    def begin(self) -> None:
        self.begun += 1

    def add(self, round_number: int, scalars: dict[str, float]) -> None:
        self.added.append((round_number, scalars))

    def close(self, finished: bool) -> None:
        self.closed.append(finished)


def test_loggers_get_every_evaluation_and_what_a_resumed_run_did_before(tmp_path: Path) -> None:
    """Rounds 3 and 7 train no client and have no training loss; rates are after a row's round."""
    first, second = NotedScalars(), NotedScalars()
    with pytest.raises(Breakdown):
        run(tmp_path, STRATEGIES["f3ast"], break_at=6, loggers=[first])
    run(tmp_path, STRATEGIES["f3ast"], loggers=[second])
    assert (first.begun, first.closed, second.begun, second.closed) == (1, [False], 1, [True])
    assert [t for t, _ in first.added] == [3] and [t for t, _ in second.added] == [3, 6, 7]
    assert second.added[0] == first.added[0]
    assert "train/loss" in second.added[1][1] and "train/loss" not in second.added[2][1]
    assert {"test/user_loss", "selection/num_selected"} <= second.added[2][1].keys()
    rates = selection(tmp_path)["rates"]
    found = [scalars["rates/mean"] for _, scalars in second.added]
    assert found == [pytest.approx(row.mean()) for row in rates]


def test_a_logger_that_fails_at_the_end_is_asked_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """After another error, its own is a warning."""

    class Unreachable(NotedScalars):
        def close(self, finished: bool) -> None:
            super().close(finished)
            raise OSError("no route to host")

    with pytest.raises(Breakdown):
        run(tmp_path, STRATEGIES["f3ast"], break_at=6, loggers=[Unreachable()])
    assert "no route to host" in caplog.text
    with pytest.raises(OSError, match="no route to host"):
        run(tmp_path, STRATEGIES["f3ast"], loggers=[Unreachable()])
    assert not (tmp_path / "summary.json").exists()
    again = NotedScalars()
    run(tmp_path, STRATEGIES["f3ast"], loggers=[again])
    assert [t for t, _ in again.added] == [3, 6, 7] and again.closed == [True]
    assert (tmp_path / "summary.json").exists()


def test_blocks_end_at_evaluations_and_checkpoints(
    undisturbed: dict[str, Path], tmp_path: Path
) -> None:
    """Evaluations after 3, 6, 7, checkpoints after 2, 4, 6, 7: no block spans one of them.

    The first block is one round, from which the loop learns a round's duration.
    """
    _, engine, progress = run(tmp_path, STRATEGIES["f3ast"], block_rounds=100)
    assert engine.blocks == [(1, 1), (2, 2), (3, 3), (4, 4), (5, 6), (7, 7)]
    assert [t for t, _ in progress.rows] == [1, 2, 3, 4, 6, 7]
    assert_same_results(tmp_path, undisturbed["f3ast"])


@pytest.mark.parametrize(("size", "blocks"), [(2, [(1, 1), (2, 3), (4, 5), (6, 6), (7, 7)])])
def test_blocks_are_no_longer_than_the_engine_wants(
    size: int, blocks: list[tuple[int, int]], undisturbed: dict[str, Path], tmp_path: Path
) -> None:
    _, engine, _ = run(
        tmp_path, STRATEGIES["proportional"], block_rounds=size, checkpoint_every=100
    )
    assert engine.blocks == blocks
    assert_same_results(tmp_path, undisturbed["proportional"])


def test_strategy_that_asks_for_losses_gets_those_of_the_round_before(
    undisturbed: dict[str, Path], tmp_path: Path
) -> None:
    """Blocks are single rounds for any engine, since the cohort depends on the model."""
    _, engine, _ = run(tmp_path, STRATEGIES["power_of_choice"], block_rounds=100)
    assert engine.blocks == [(t, t) for t in range(1, ROUNDS + 1)]
    assert_same_results(tmp_path, undisturbed["power_of_choice"])


def test_strategy_that_needs_outcomes_observes_every_round(
    undisturbed: dict[str, Path], tmp_path: Path
) -> None:
    """Rounds come one by one; an empty round is observed too, without clients."""
    learner = Learner()
    result, engine, _ = run(tmp_path, lambda: learner, block_rounds=100)
    assert engine.blocks == [(t, t) for t in range(1, ROUNDS + 1)]
    assert [t for t, _ in learner.observed] == list(range(1, ROUNDS + 1))
    empty = np.flatnonzero(result.selection["num_selected"] == 0) + 1
    for t, outcome in learner.observed:
        size = result.selection["num_selected"][t - 1]
        assert (size == 0) == (t in empty)
        assert outcome.ids.tolist() == result.selection["selected"][t - 1][:size].tolist()
        assert (outcome.delivered.dtype, outcome.delivered.shape) == (np.dtype(bool), (size,))
        assert (outcome.losses.dtype, outcome.losses.shape) == (np.dtype(float), (size,))
    np.testing.assert_array_equal(result.selection["final_last"], learner.last)
    assert_same_results(tmp_path, undisturbed["learner"])


class Notes:
    """A callback that takes notes."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, float]] = []
        self.cohorts: list[Cohort] = []

    def on_round(self, round_number: int, cohort: Cohort, outcome: RoundOutcome) -> None:
        self.calls.append(("round", round_number))
        self.cohorts.append(cohort)

    def on_evaluation(self, row: Row, trained: Any) -> None:
        self.calls.append(("evaluation", row["round"]))


@pytest.mark.parametrize("with_folder", [True, False])
def test_callbacks_hear_of_every_round_and_evaluation(with_folder: bool, tmp_path: Path) -> None:
    """Evaluations come after 3, 6 and 7; rounds still run in blocks."""
    notes = Notes()
    folder = tmp_path if with_folder else None
    result, engine, _ = run(folder, STRATEGIES["f3ast"], block_rounds=100, callbacks=[notes])
    assert engine.blocks == [(1, 1), (2, 2), (3, 3), (4, 4), (5, 6), (7, 7)]
    expected: list[tuple[str, float]] = []
    for t in range(1, ROUNDS + 1):
        expected += [("round", t), *([("evaluation", t)] if t in (3, 6, 7) else [])]
    assert notes.calls == expected
    assert [len(cohort) for cohort in notes.cohorts] == result.selection["num_selected"].tolist()


@pytest.mark.parametrize("name", STRATEGIES)
def test_without_a_folder_the_result_is_the_same_and_nothing_is_written(
    name: str, undisturbed: dict[str, Path], cwd: Path
) -> None:
    result, _, progress = run(None, STRATEGIES[name])
    assert not list(cwd.iterdir())
    assert progress.first_rounds == [1] and progress.rounds == ROUNDS
    record = selection(undisturbed[name])
    assert record.keys() == result.selection.keys()
    for key, value in result.selection.items():
        np.testing.assert_array_equal(value, record[key])
    rows = csv_without_seconds(undisturbed[name])[1:]
    assert [[str(v) for v in list(row.values())[:-1]] for row in result.rows] == rows
    assert result.summary["final"] == result.rows[-1]


class Broken(BaseStrategy):
    """Selects and weighs as given."""

    def __init__(self, ids: Any, weigh: Callable[[np.ndarray], Any]) -> None:
        self._ids, self._weigh = ids, weigh

    def select(self, now: Round) -> Any:
        return self._ids

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Any:
        return self._weigh(ids)


def weights(*values: Any) -> Callable[[np.ndarray], Cohort]:
    return lambda ids: Cohort(ids, np.array(values))


# Two clients that are available in round 1.
TWO = np.flatnonzero(Sometimes(np.full(N, 0.5), seed=1).mask(1))[:2]
BROKEN: dict[str, tuple[Any, Callable[[np.ndarray], Any], str]] = {
    "none": (None, weights(), "select in round 1 returned NoneType: must be an array"),
    "too_far": (
        np.array([0, N]),
        weights(1, 1),
        f"select in round 1 returned client {N}: must be in 0 .. {N - 1}",
    ),
    "negative": (np.array([-1]), weights(1), "returned client -1: must be in 0"),
    "fractions": (np.array([0.0]), weights(1), "ids of dtype float64: must be int"),
    "no_cohort": (TWO, lambda ids: None, "weigh in round 1 must return a Cohort of ids and"),
    "others": (TWO, lambda ids: Cohort(ids[::-1], np.ones(2)), "weigh in round 1 must return the"),
    "nan": (
        TWO,
        weights(1, np.nan),
        f"weigh in round 1 returned weights that are not finite, nan for client {TWO[1]}",
    ),
    "texts": (TWO, weights("a", "b"), "weigh in round 1 returned weights of dtype <U1: must be nu"),
}


@pytest.mark.parametrize(("ids", "weigh", "says"), BROKEN.values(), ids=BROKEN)
def test_strategy_that_breaks_its_protocol_is_named(
    ids: Any, weigh: Callable[[np.ndarray], Any], says: str
) -> None:
    with pytest.raises(ComponentError) as caught:
        run(None, lambda: Broken(ids, weigh))
    message = str(caught.value)
    assert message.startswith("algorithm Broken: ")
    assert says in message and "\n" not in message


class WrongRates(Learner):
    def participation_rates(self) -> np.ndarray:
        return np.ones(N + 1)


@pytest.mark.parametrize(
    ("strategy", "says"),
    [
        (
            WrongRates,
            rf"WrongRates: participation_rates returned shape \({N + 1},\): must be \({N},\)",
        ),
        (object, "object: has no needs_losses, .*restore"),
    ],
)
def test_strategy_of_another_form_is_named(strategy: Callable[[], Any], says: str) -> None:
    with pytest.raises(ComponentError, match=f"algorithm {says}"):
        run(None, strategy)


@pytest.mark.parametrize(
    ("state", "says"),
    [
        (None, "returned NoneType"),
        ({"own": None}, "returned 'own', NoneType"),
        ({"own": np.array([{}])}, "returned 'own', ndarray"),
        ({"own": [[1], [1, 2]]}, "returned a ragged 'own'"),
        ({3: np.ones(1)}, "returned 3, ndarray"),
    ],
)
def test_a_state_that_no_checkpoint_can_hold_is_refused_at_the_first(
    tmp_path: Path, state: Any, says: str
) -> None:
    """NumPy would pickle it, and pickles are never read."""

    class Wrong(Learner):
        def state(self) -> Any:
            return state

    with pytest.raises(ComponentError, match=f"algorithm Wrong: state {says}: must be arrays"):
        run(tmp_path, Wrong)
    assert not list((tmp_path / "checkpoints").iterdir())


def test_constraint_that_returns_a_number_is_named() -> None:
    constraint = SimpleNamespace(limit=lambda round_number: 3)
    with pytest.raises(ComponentError, match="constraint SimpleNamespace: limit.* returned 3: "):
        constraint_of(constraint, 1)
