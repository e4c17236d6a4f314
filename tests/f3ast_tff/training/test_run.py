"""The round loop, with an engine that needs no framework."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from f3ast_tff.rates import ParticipationRates
from f3ast_tff.selection import Strategy
from tests.f3ast_tff.training.event_file import scalars
from tests.f3ast_tff.training.small_run import (
    ROUNDS,
    STRATEGIES,
    N,
    Sometimes,
    assert_same_results,
    csv_without_seconds,
    run,
    selection,
)


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
    summary, engine, _ = run(tmp_path, strategy)
    record = selection(tmp_path)
    empty = np.flatnonzero(record["num_selected"] == 0) + 1
    assert {3, ROUNDS} <= set(empty.tolist())
    assert engine.rounds_run == [t for t in range(1, ROUNDS + 1) if t not in empty]
    assert summary["empty_rounds"] == len(empty)
    assert summary["rejected_rounds"] == summary["dropped_updates"] == 0
    assert summary["rounds"] == ROUNDS
    assert summary["engine"] == "fake"
    assert caplog.text.count("no client available, model left alone") == len(empty)
    last = csv_without_seconds(tmp_path)[-1]
    assert last[1] == "nan"
    assert last[-3:] == ["0", "0", "0.0"]
    assert json.loads((tmp_path / "summary.json").read_text())["final"]["train_loss"] is None


def test_strategies_see_the_availability_and_k(tmp_path: Path) -> None:
    run(tmp_path, STRATEGIES["f3ast"])
    record = selection(tmp_path)
    masks = [Sometimes(np.full(N, 0.5), seed=1).mask(t) for t in range(1, ROUNDS + 1)]
    assert record["num_available"].tolist() == [mask.sum() for mask in masks]
    assert record["num_selected"].tolist() == [min(2, mask.sum()) for mask in masks]
    for ids, mask in zip(record["selected"], masks):
        assert mask[ids[ids >= 0]].all()
    rates = ParticipationRates(np.full(N, 0.5), 0.1)
    for ids in record["selected"]:
        rates.update(ids[ids >= 0])
    np.testing.assert_array_equal(record["final_rates"], rates.values)


def test_every_row_is_an_event_too(tmp_path: Path) -> None:
    """A column of its own by tag; the training loss of the empty rounds 3 and 7 has no value."""
    run(tmp_path, STRATEGIES["proportional"])
    found = scalars(tmp_path)
    assert {step for step, tag in found if tag == "test_user_loss"} == {3, 6, 7}
    assert {step for step, tag in found if tag == "train_loss"} == {6}


def test_blocks_end_at_evaluations_and_checkpoints(
    undisturbed: dict[str, Path], tmp_path: Path
) -> None:
    """Evaluations after 3, 6, 7, checkpoints after 2, 4, 6, 7: no block spans one of them."""
    _, engine, progress = run(tmp_path, STRATEGIES["f3ast"], block_rounds=100)
    assert engine.blocks == [(1, 2), (3, 3), (4, 4), (5, 6), (7, 7)]
    assert [t for t, _ in progress.rows] == [2, 3, 4, 6, 7]
    assert_same_results(tmp_path, undisturbed["f3ast"])


@pytest.mark.parametrize(("size", "blocks"), [(2, [(1, 2), (3, 3), (4, 5), (6, 6), (7, 7)])])
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
    """Blocks of one round, whatever the engine wants: the cohort depends on the model."""
    _, engine, _ = run(tmp_path, STRATEGIES["power_of_choice"], block_rounds=100)
    assert engine.blocks == [(t, t) for t in range(1, ROUNDS + 1)]
    assert_same_results(tmp_path, undisturbed["power_of_choice"])
