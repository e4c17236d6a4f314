"""Measures what kinds of runs cost, by short runs in processes such as the campaign's own."""

from __future__ import annotations

import csv
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import fields, replace
from datetime import datetime
from itertools import cycle, islice
from pathlib import Path
from statistics import mean
from threading import Lock
from typing import Any

from f3ast_tff.campaigns.costs import Cost
from f3ast_tff.campaigns.pool import Worker
from f3ast_tff.campaigns.processes import LocalProcesses
from f3ast_tff.campaigns.runs import FINISHED, Outcome, PlannedRun, rounds_done
from f3ast_tff.configuration.resolve import resolve
from f3ast_tff.errors import Interrupted
from f3ast_tff.signals import Stop
from f3ast_tff.training.results import read_summary


class MeasurementError(RuntimeError):
    """A short run that was to be measured has failed; says why in one line."""


# Of rounds in a run that is measured; where it was less than half, another run has more.
_ROUNDS_SECONDS = 10.0
_ATTEMPTS = 3
_POLL_S = 0.5
# Services would receive scalars of runs that are no results.
_LOCAL_LOGGERS = ("tensorboard", "csv")


def measure(
    runs: Sequence[PlannedRun],
    processes: int,
    folder: Path,
    provenance: Mapping[str, Any],
    stop: Stop,
    measured: Callable[[int, Cost], None],
) -> None:
    """Measures runs, as many at a time as the campaign will execute, as they slow each other down.

    Args:
        runs: One of each kind.
        processes: At a time; fewer kinds than that are measured several times.
        folder: Takes the short runs.
        provenance: See `LocalProcesses`.
        stop: Asked every half a second.
        measured: Receives the place of a run in `runs` and its cost.

    Raises:
        MeasurementError: If a run fails.
        Interrupted: If `stop` was requested.
    """
    workers = LocalProcesses(processes, folder, provenance)
    started: list[Worker] = []
    one_start = Lock()
    found: dict[int, list[Cost]] = defaultdict(list)
    # In turns, so that each is measured beside others.
    places = list(islice(cycle(range(len(runs))), max(len(runs), processes)))

    def one(number: int, place: int) -> tuple[int, Cost]:
        spawned = time.time()
        with one_start:
            # A GPU is chosen by those that are taken.
            worker = workers.start(runs[place].environment)
        started.append(worker)
        try:
            return place, _measure(runs[place], worker, spawned, folder / str(number))
        finally:
            worker.close()

    with ThreadPoolExecutor(processes) as pool:
        waiting: set[Future[tuple[int, Cost]]] = {
            pool.submit(one, number, place) for number, place in enumerate(places)
        }
        left = {place: places.count(place) for place in set(places)}
        try:
            while waiting:
                done, waiting = wait(waiting, _POLL_S, return_when="FIRST_COMPLETED")
                for future in done:
                    place, cost = future.result()
                    found[place].append(cost)
                    if len(found[place]) == left[place]:
                        measured(place, _average(found[place]))
                if stop.requested():
                    raise Interrupted
        finally:
            for future in waiting:
                future.cancel()
            if waiting:
                for worker in list(started):
                    worker.close()


def _measure(run: PlannedRun, worker: Worker, spawned: float, folder: Path) -> Cost:
    """Runs in one process: the first compiles, the next find the programs and are steady."""
    first = _shortened(run, folder, "first", min(2, run.settings["rounds"]), 1)
    first_outcome = _execute(first, worker)
    began = datetime.fromisoformat(first_outcome.started.replace("Z", "+00:00")).timestamp()
    seconds, most = _seconds_per_round(first), max(0.0, _between(first) - _seconds_per_round(first))
    evaluation = most
    for attempt in range(_ATTEMPTS):
        again = _longer(run, folder, f"again{attempt}", seconds, evaluation)
        outcome = _execute(again, worker)
        rounds, every = again.settings["rounds"], again.settings["eval_every"]
        between, steady = _between(again), _seconds_per_round(again)
        evaluation = max(0.0, min(most, between - every * steady))
        seconds = max(steady, (between - evaluation) / every)
        if rounds == run.settings["rounds"] or rounds * between / every > _ROUNDS_SECONDS / 2:
            break

    def rest(outcome: Outcome, of: PlannedRun) -> float:
        evaluations = -(-of.settings["rounds"] // of.settings["eval_every"])
        working = of.settings["rounds"] * seconds + evaluations * evaluation
        return max(0.0, outcome.seconds - working)

    sizes = (first.settings["rounds"], _sizes(first)), (rounds, _sizes(again))
    summary = read_summary(again.folder) or {}
    return Cost(
        process_seconds=max(0.0, began - spawned),
        first_seconds=rest(first_outcome, first),
        start_seconds=rest(outcome, again),
        round_seconds=seconds,
        evaluation_seconds=evaluation,
        memory_mib=summary["peak_memory_mib"] + summary.get("worker_peak_memory_mib", 0.0),
        checkpoint=_line(*((rounds, size[0]) for rounds, size in sizes)),
        results=_line(*((rounds, size[1]) for rounds, size in sizes)),
    )


def _longer(
    run: PlannedRun, folder: Path, name: str, seconds: float, evaluation: float
) -> PlannedRun:
    """The run with as many rounds as take `_ROUNDS_SECONDS`, and two evaluations at least."""
    every = run.settings["eval_every"]
    fit = int(_ROUNDS_SECONDS / max(seconds + evaluation / every, 1e-6))
    fit = max(2, min(fit, run.settings["rounds"]))
    every = every if fit >= 2 * every else max(1, fit // 2)
    return _shortened(run, folder, name, min(run.settings["rounds"], fit // every * every), every)


def _shortened(
    run: PlannedRun, folder: Path, name: str, rounds: int, eval_every: int
) -> PlannedRun:
    loggers = [part.strip() for part in run.settings["logger"].split(",")]
    changed = {
        "rounds": rounds,
        "eval_every": eval_every,
        "logger": ",".join(part for part in loggers if part in _LOCAL_LOGGERS),
        "keep_checkpoints": 1,
        "output_dir": str(folder),
        "run_name": name,
    }
    configuration = run.configuration
    return PlannedRun(name, resolve({**run.settings, **changed}, configuration.registry))


def _execute(run: PlannedRun, worker: Worker) -> Outcome:
    worker.submit(run)
    outcome = worker.outcome()
    if outcome.state != FINISHED:
        raise MeasurementError(f"a run that was to be measured failed: {outcome.error}")
    return outcome


def _seconds_per_round(run: PlannedRun) -> float:
    summary = read_summary(run.folder) or {}
    return float(summary["seconds_per_round"])


def _between(run: PlannedRun) -> float:
    """Mean seconds from one evaluation to the next, of the last half: the start is not steady."""
    with open(run.folder / "metrics.csv", newline="") as file:
        times = [float(row["wall_seconds"]) for row in csv.DictReader(file)]
    if len(times) < 2:
        return float(run.settings["eval_every"]) * _seconds_per_round(run)
    half = (len(times) - 1) // 2
    return (times[-1] - times[half]) / (len(times) - 1 - half)


def _sizes(run: PlannedRun) -> tuple[int, int]:
    """Bytes of the last checkpoint, and of all else in the folder."""
    last = run.folder / "checkpoints" / f"round_{rounds_done(run):08d}.npz"
    files = [path for path in run.folder.rglob("*") if path.is_file()]
    results = [path for path in files if path.parent.name != "checkpoints"]
    return last.stat().st_size, sum(path.stat().st_size for path in results)


def _line(few: tuple[int, int], many: tuple[int, int]) -> tuple[float, float]:
    """Bytes without rounds, and bytes a round, through the sizes after two numbers of rounds."""
    added = max(0.0, (many[1] - few[1]) / (many[0] - few[0])) if many[0] > few[0] else 0.0
    return max(0.0, many[1] - many[0] * added), added


def _average(costs: Sequence[Cost]) -> Cost:
    times = [f.name for f in fields(Cost) if f.name.endswith("_seconds")]
    found = {name: mean(getattr(cost, name) for cost in costs) for name in times}
    return replace(costs[0], memory_mib=max(cost.memory_mib for cost in costs), **found)
