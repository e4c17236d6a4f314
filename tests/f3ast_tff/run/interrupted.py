"""Runs by settings that stop after a round and go on: the one harness of `test_interrupted.py`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from f3ast_tff.engines import RoundOutcome
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.records.metrics import Row
from f3ast_tff.records.run_folder import RunFolder
from f3ast_tff.run.build import Builder
from f3ast_tff.run.round_loop import train
from f3ast_tff.settings.registry import builtin_registry, registry_with
from f3ast_tff.settings.resolve import resolve
from tests.f3ast_tff.run.small_run import assert_same_results
from tests.fake_engine import Breakdown, FakeEngine


class Ended(NamedTuple):
    """A run at its end: summary, record of selections, the engine's state, and a checkpoint."""

    summary: dict[str, Any]
    selection: dict[str, np.ndarray]
    weights: list[np.ndarray]
    state: dict[str, np.ndarray]
    checkpoint: dict[str, np.ndarray]


@dataclass(frozen=True)
class Stopped:
    """A run that stops in a round.

    Attributes:
        given: Settings of the run.
        after: The round that stops it.
        at: What stops it: the report of the round, the report of its evaluation, a breakdown of a
            fake engine with blocks of rounds, or the end of a run that is then made longer.
        shows: Whether an undisturbed run has what the row is about.
        plugins: Files of plug-ins.
    """

    given: dict[str, Any]
    after: int
    at: str = "round"
    shows: Callable[[Ended], Any] = lambda ended: True
    plugins: tuple[Path, ...] = field(default=())

    def on(self, engine: str) -> Stopped:
        return replace(self, given={**self.given, "engine": engine})

    def run(self, folder: Path, stop: bool = False) -> Ended:
        """Runs with new parts, as in a new process."""
        longer = stop and self.at == "end"
        given = {**self.given, **({"rounds": self.after} if longer else {})}
        names = [str(plugin) for plugin in self.plugins]
        registry = registry_with(names) if names else builtin_registry()
        parts = Builder(resolve(given, registry)).experiment()
        if self.at == "breakdown":
            parts.engine.close()
            at = self.after if stop else None
            parts = replace(parts, engine=FakeEngine(given["num_clients"], at, 100))
        callbacks = (_Stop(self.after, self.at),) if stop else ()
        with closing(parts.engine), closing(RunFolder(folder, {"name": "test"})) as opened:
            result = train(parts, opened, None, callbacks)
            newest = max((folder / "checkpoints").iterdir())
            with np.load(newest) as kept:
                # The others are the account of the run's time.
                arrays = {name: kept[name] for name in kept.files if "/" in name}
            state = {name: np.array(value) for name, value in parts.engine.state().items()}
            return Ended(result.summary, result.selection, parts.engine.weights(), state, arrays)


class _Stop:
    """Stops a run when a round, or its evaluation, is reported."""

    def __init__(self, after: int, at: str) -> None:
        self.after, self.at = after, at

    def on_round(self, round_number: int, cohort: Cohort, outcome: RoundOutcome) -> None:
        if (round_number, "round") == (self.after, self.at):
            raise Breakdown("round")

    def on_evaluation(self, row: Row, trained: Any) -> None:
        if (row["round"], "evaluation") == (self.after, self.at):
            raise Breakdown("evaluation")


def assert_goes_on(stopped: Stopped, place: Path) -> None:
    """A run that stopped and went on is an undisturbed one to the last bit.

    Compares scores, selections, summaries, the engine's state and the last checkpoint.
    """
    whole, torn = place / "whole", place / "torn"
    expected = stopped.run(whole)
    assert stopped.shows(expected)
    done = False
    with suppress(Breakdown):
        stopped.run(torn, stop=True)
        done = True
    assert done == (torn / "summary.json").exists() == (stopped.at == "end")
    found = stopped.run(torn)
    assert_same_results(torn, whole)
    for one, other in zip(found.weights, expected.weights, strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in ((found.state, expected.state), (found.checkpoint, expected.checkpoint)):
        assert one.keys() == other.keys()
        for name, value in other.items():
            np.testing.assert_array_equal(one[name], value, err_msg=name)
