"""An interrupted run ends as if it had not been interrupted."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from f3ast_tff.run.round_loop import RunResult
from tests.f3ast_tff.run.small_run import DELIVERIES, ROUNDS, STRATEGIES, assert_same_results, run
from tests.fake_engine import Breakdown, FakeEngine, SilentProgress

# Delivery, rounds of a block of the engine, and the rounds in which it breaks down.
BREAKDOWNS: tuple[tuple[str, int, tuple[int, ...]], ...] = (
    *(("certain", block, tuple(range(1, ROUNDS + 1))) for block in (1, 100)),
    ("half_lost", 1, (2, 4, 5, 7)),
    ("failing", 1, (2, 5)),
)


@pytest.mark.parametrize(
    ("delivery", "block_rounds", "break_at"),
    [(delivery, block, at) for delivery, block, rounds in BREAKDOWNS for at in rounds],
)
@pytest.mark.parametrize("name", STRATEGIES)
def test_resumed_run_repeats_an_uninterrupted_one(
    name: str,
    delivery: str,
    block_rounds: int,
    break_at: int,
    with_delivery: Callable[[str, str], Path],
    tmp_path: Path,
) -> None:
    """The engine breaks down in one round; checkpoints are every 2 rounds."""

    def ran(at: int | None) -> tuple[RunResult, FakeEngine, SilentProgress]:
        sent = DELIVERIES[delivery]()
        strategy = STRATEGIES[name]
        return run(tmp_path, strategy, break_at=at, block_rounds=block_rounds, delivery=sent)

    with pytest.raises(Breakdown):
        ran(break_at)
    assert not (tmp_path / "summary.json").exists()
    _, engine, progress = ran(None)
    first = (break_at - 1) // 2 * 2 + 1
    assert progress.first_rounds == [first]
    assert engine.blocks[0][0] == first
    assert_same_results(tmp_path, with_delivery(name, delivery))


@pytest.mark.parametrize("rounds_done", range(1, ROUNDS + 1))
def test_run_stopped_between_rounds_repeats_an_uninterrupted_one(
    rounds_done: int, undisturbed: dict[str, Path], tmp_path: Path
) -> None:
    """Stopped after each round, also the last (all but the summary is done), and once more."""
    for _ in range(2):
        with pytest.raises(Breakdown):
            run(
                tmp_path,
                STRATEGIES["f3ast"],
                progress=SilentProgress(break_at=rounds_done),
                checkpoint_every=rounds_done,
            )
        if 2 * rounds_done > ROUNDS:
            break
    run(tmp_path, STRATEGIES["f3ast"])
    assert_same_results(tmp_path, undisturbed["f3ast"])


def test_wall_seconds_go_on_from_the_interrupted_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock moves 1 s per reading: once at the start, then per row or checkpoint.

    The first run reads 1 for checkpoint 2, 2 for row 3 and 3 for checkpoint 4, then breaks down.
    The second reads 3 + 1 for row 6, + 2 for checkpoint 6 and + 3 for row 7.
    """
    clock = SimpleNamespace(monotonic=itertools.count().__next__, perf_counter=lambda: 0.0)
    monkeypatch.setattr("f3ast_tff.run.round_loop.time", clock)
    with pytest.raises(Breakdown):
        run(tmp_path, STRATEGIES["proportional"], break_at=5)
    run(tmp_path, STRATEGIES["proportional"])
    lines = (tmp_path / "metrics.csv").read_text().splitlines()[1:]
    assert [float(line.split(",")[-1]) for line in lines] == [2, 4, 6]


def test_damaged_checkpoint_costs_rounds_but_no_result(
    undisturbed: dict[str, Path], tmp_path: Path
) -> None:
    with pytest.raises(Breakdown):
        run(tmp_path, STRATEGIES["f3ast"], break_at=5)
    newest = sorted((tmp_path / "checkpoints").iterdir())[-1]
    assert newest.name == "round_00000004.npz"
    newest.write_bytes(newest.read_bytes()[:200])
    _, _, progress = run(tmp_path, STRATEGIES["f3ast"])
    assert progress.first_rounds == [3]
    assert_same_results(tmp_path, undisturbed["f3ast"])
