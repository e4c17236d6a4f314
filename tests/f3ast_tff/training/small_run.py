"""A run of seven rounds on a fake engine, for the tests of the round loop."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from f3ast_tff.availability import FixedK, IndependentAvailability
from f3ast_tff.rates import ParticipationRates
from f3ast_tff.selection import F3AST, PowerOfChoice, Proportional, Strategy
from f3ast_tff.training.run import Experiment, run_experiment
from f3ast_tff.training.run_folder import RunFolder
from tests.fake_engine import FakeEngine, SilentProgress

N, ROUNDS = 6, 7
P = np.full(N, 1 / N)
STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "f3ast": lambda: F3AST(P, ParticipationRates(np.full(N, 0.5), 0.1)),
    "power_of_choice": lambda: PowerOfChoice(P, candidates=3),
    "proportional": lambda: Proportional(P, np.ones(N), replace=True),
}


class Sometimes(IndependentAvailability):
    """Nobody in round 3 and in the last round, else about half of all clients."""

    def probabilities(self, round_number: int) -> np.ndarray:
        return self.q * (round_number not in (3, ROUNDS))


def run(
    folder: Path,
    strategy: Callable[[], Strategy],
    *,
    break_at: int | None = None,
    progress: SilentProgress | None = None,
    checkpoint_every: int = 2,
    block_rounds: int = 1,
) -> tuple[dict, FakeEngine, SilentProgress]:
    """Runs in fresh parts, as a process of its own would; returns summary, engine, progress."""
    engine, progress = FakeEngine(N, break_at, block_rounds), progress or SilentProgress()
    world = Sometimes(np.full(N, 0.5), seed=1)
    parts = Experiment(world, FixedK(2), strategy(), engine, ROUNDS, 3, checkpoint_every)
    opened = RunFolder(folder, {"name": "test"})
    try:
        return run_experiment(parts, opened, progress), engine, progress
    finally:
        opened.close()


def csv_without_seconds(folder: Path) -> list[list[str]]:
    lines = [line.split(",") for line in (folder / "metrics.csv").read_text().splitlines()]
    assert lines[0][-1] == "wall_seconds"
    return [line[:-1] for line in lines]


def selection(folder: Path) -> dict[str, np.ndarray]:
    with np.load(folder / "selection.npz") as archive:
        return {name: archive[name] for name in archive.files}


def summary_without_seconds(folder: Path) -> dict:
    summary = json.loads((folder / "summary.json").read_text())
    del summary["final"]["wall_seconds"], summary["seconds_per_round"]
    del summary["peak_memory_mib"]
    return summary


def assert_same_results(one: Path, other: Path) -> None:
    assert csv_without_seconds(one) == csv_without_seconds(other)
    assert summary_without_seconds(one) == summary_without_seconds(other)
    first, second = selection(one), selection(other)
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name])
