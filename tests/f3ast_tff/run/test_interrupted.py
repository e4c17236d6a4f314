"""Interrupted runs end as undisturbed ones, by a table of settings, engines and rounds."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from f3ast_tff.engines import RoundOutcome
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.records.metrics import Row
from f3ast_tff.records.run_folder import RunFolder
from f3ast_tff.run.build import Builder
from f3ast_tff.run.round_loop import RunResult, train
from f3ast_tff.settings.registry import builtin_registry, registry_with
from f3ast_tff.settings.resolve import resolve
from tests.f3ast_tff.delivery import test_delivery_runs as lossy
from tests.f3ast_tff.delivery import test_late_runs as late
from tests.f3ast_tff.run.small_run import DELIVERIES, ROUNDS, STRATEGIES, assert_same_results, run
from tests.fake_engine import Breakdown, FakeEngine, SilentProgress


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


PLUGINS = Path(__file__).resolve().parents[3] / "examples" / "plugins"
SMALL: dict[str, Any] = {"num_clients": 10, "clients_per_round": 4, "rounds": 8, "eval_every": 2}
MEMORY: dict[str, Any] = {
    "num_clients": 8,
    "clients_per_round": 3,
    "client_lr": 0.05,
    "client_lr_decay": 0.9,
    "availability": "four_classes",
    "rounds": 9,
    "eval_every": 3,
    "checkpoint_every": 2,
    "seed": 3,
}
MEMORIES: dict[str, dict[str, Any]] = {
    "mifa": {"algorithm": "mifa"},
    "mifa_waits": {
        "algorithm": "mifa",
        "mifa_start": "wait",
        "clients_per_round": 8,
        "availability": "scarce",
        "scarce_q": 0.4,
    },
    "fedvarp": {"algorithm": "fedvarp"},
    "fedstale": {"algorithm": "fedstale", "availability_knowledge": "estimated"},
    "mimic": {"algorithm": "mimic"},
    "focus": {"algorithm": "focus"},
    "fedawe": {"algorithm": "fedawe"},
    "f3ast+fedvarp": {"algorithm": "f3ast", "aggregation": "fedvarp"},
}
ASYNCHRONOUS: dict[str, Any] = {
    **{"num_clients": 12, "clients_per_round": 4, "local_steps": 2, "rounds": 12, "eval_every": 4},
    **{"seed": 2, "delivery": "asynchronous", "checkpoint_every": 2},
    **{"availability": "four_classes", "async_leavers": "late"},
}
MORE = {"fedbuff": {"buffer_size": 2}, "poc": {"poc_candidates": 6}, "aced": {"aced_tau": 2}}
# Settings, and what the server then keeps and starts from.
KEEPING: dict[str, tuple[dict[str, Any], str, np.float32]] = {
    "centred_clip": ({"bucket_size": 2}, "server_last", np.float32(0)),
    "adaptive_clip": ({"clip_rate": 0.5}, "server_clip", np.float32(0.1)),
}


def moved(ended: Ended) -> bool:
    return max(np.abs(weight).max() for weight in ended.weights) > 0.01


def in_flight_after_round_6(ended: Ended) -> bool:
    return bool(ended.selection["in_flight"][5] > 0)


def kept_leaves(ended: Ended) -> bool:
    table = ended.checkpoint["engine/client_private_leaves"]
    return table.shape == (12, 10) and bool(table.any())


def rows() -> Iterator[tuple[str, str, Stopped, bool]]:
    """Name of a row, its engine, the run, and whether it takes long."""
    for name, given in MEMORIES.items():
        # The checkpoint is of round 4.
        yield name, "host", Stopped({**MEMORY, **given}, 5, shows=moved), False
    for algorithm in ("f3ast", "fedbuff", "fadas", "mifa", "fedau", "fedavg"):
        given = {**late.SMALL, **late.GIVEN.get(algorithm, {}), "algorithm": algorithm}
        yield f"late {algorithm}", "host", Stopped(given, 7, shows=in_flight_after_round_6), True
    for algorithm in ("fedbuff", "f3ast", "mifa", "poc", "fedasync", "aced"):
        given = {**ASYNCHRONOUS, "algorithm": algorithm, **MORE.get(algorithm, {})}
        run = Stopped(given, 7, shows=in_flight_after_round_6)
        yield f"asynchronous {algorithm}", "host", run, False
    for place, algorithm in enumerate(lossy.ALGORITHMS):
        # Each algorithm with one of the deliveries.
        loses = list(lossy.LOSSY.values())[place % len(lossy.LOSSY)]
        given = {**lossy.SMALL, "algorithm": algorithm, **lossy.GIVEN.get(algorithm, {}), **loses}
        if algorithm == "f3ast":
            given["rates_follow"] = "both"
        run = Stopped(given, 8, "breakdown", lambda ended: ended.summary["lost_updates"] > 0)
        yield f"lossy {algorithm}", "host", run, False
    for aggregation, (more, kept, start) in KEEPING.items():
        given = {**SMALL, **more, "algorithm": "fedavg", "aggregation": aggregation}
        given |= {"attack": "noise", "checkpoint_every": 4}
        run = Stopped(
            given,
            5,
            shows=lambda ended, kept=kept, start=start: np.any(ended.state[kept] != start),
            plugins=(PLUGINS / f"{aggregation}.py",),
        )
        for engine in ("host", "fused"):
            yield f"attacked {aggregation}", engine, run, True
    given = {**SMALL, "num_clients": 12, "eval_every": 4, "checkpoint_every": 4, "client_lr": 0.1}
    for engine in ("host", "fused"):
        leaves = Stopped({**given, "private": "head.bias"}, 4, "end", kept_leaves)
        yield "private leaves", engine, leaves, True
    given = {**SMALL, "clients_per_round": 3, "rounds": 4, "checkpoint_every": 2}
    yield "score of the worst", "host", Stopped({**given, "score_of": "worst"}, 2, "end"), False
    given = {"num_clients": 5, "clients_per_round": 2, "rounds": 6, "device": "cpu"}
    given |= {"checkpoint_every": 2, "eval_every": 2}
    given |= {"client_lr": 0.1, "client_lr_schedule": "inverse_sqrt"}
    yield "inverse_sqrt", "fused", Stopped(given, 4, "evaluation"), False


@pytest.mark.parametrize(
    ("engine", "stopped"),
    [
        pytest.param(
            engine,
            stopped,
            id=f"{name}-{engine}-{stopped.at} {stopped.after}",
            marks=pytest.mark.long if long else (),
        )
        for name, engine, stopped, long in rows()
    ],
)
def test_ends_as_an_undisturbed_run(engine: str, stopped: Stopped, tmp_path: Path) -> None:
    assert_goes_on(stopped.on(engine), tmp_path)


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
