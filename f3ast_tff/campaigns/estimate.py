"""Remaining cost of a campaign in hours, memory and disk, from short runs of each distinct line."""

from __future__ import annotations

import logging
import multiprocessing
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from f3ast_tff.campaigns.isolated_run import load_framework, resolve_order
from f3ast_tff.campaigns.planned import Shard, deal
from f3ast_tff.campaigns.pool import by_environment
from f3ast_tff.campaigns.processes import guard, uses_gpu, visible_gpus
from f3ast_tff.campaigns.runs import PlannedRun, missing_files, rounds_done, tasks_without_data
from f3ast_tff.core.errors import Interrupted
from f3ast_tff.files.messages import one_line_of, show
from f3ast_tff.files.process_memory import available_memory_bytes, peak_memory_mib
from f3ast_tff.files.progress import duration, say
from f3ast_tff.files.signals import Stop
from f3ast_tff.records.checkpoint import KEPT_WHILE_RUNNING
from f3ast_tff.records.provenance import cores
from f3ast_tff.run.run_experiment import run_experiment
from f3ast_tff.settings.configuration import Configuration
from f3ast_tff.settings.resolve import resolve

# Rounds of a line's further runs, unless its first, of two rounds, takes many seconds.
_ROUNDS, _LONG_S = 40, 10.0
# Seconds of work for each process, from which the lines that are left are not measured.
_ALL_S = 30.0
_POLL_S, _MIB = 0.5, 2**20
# Numbers of shards whose time is shown.
_SHARDS = (5, 10, 20, 50, 100)
# Ratio from which the time beside other programs is shown.
_SLOWER = 1.1


class MeasurementError(RuntimeError):
    """A run measured for an estimate has failed; says why in one line."""


@dataclass(frozen=True)
class Cost:
    """Costs of the runs of one line.

    Attributes:
        first: Seconds of the line's first run in a process beyond a later one: it compiles.
        start: Seconds of a run's start and end.
        round: Seconds of a round, with its share of checkpoints.
        evaluation: Seconds of an evaluation.
        process: Seconds from the start of a process to its first run: imports.
        memory_mib: Peak memory of the process.
        bytes: Bytes of a checkpoint and of all other files, after two rounds.
        growth: Bytes that each further round adds to them.
        cores: Number of cores that a run keeps busy.
    """

    first: float
    start: float
    round: float
    evaluation: float
    process: float
    memory_mib: float
    bytes: tuple[float, float]
    growth: tuple[float, float] = (0.0, 0.0)
    cores: float = 1.0

    def seconds(self, run: PlannedRun) -> float:
        """Returns the seconds of a run's remaining rounds; the last round is always evaluated."""
        rounds, every, done = run.rounds, run.settings.run.eval_every, rounds_done(run)
        evaluations = -(-rounds // every) - done // every
        return self.start + (rounds - done) * self.round + evaluations * self.evaluation

    def disk(self, run: PlannedRun, checkpoints: int) -> float:
        """Returns the bytes of a run's folder."""
        grown = max(run.rounds - 2, 0)
        checkpoint, rest = (size + grown * each for size, each in zip(self.bytes, self.growth))
        return checkpoints * checkpoint + rest


class _Clock:
    """Wall and process seconds of a run's parts, by the event at their end; also a callback."""

    def __init__(self) -> None:
        self.parts: list[tuple[str, float, float]] = []
        self.last = time.monotonic(), time.process_time()

    def end(self, part: str) -> None:
        before, self.last = self.last, (time.monotonic(), time.process_time())
        self.parts.append((part, self.last[0] - before[0], self.last[1] - before[1]))

    def start(self, first_round: int) -> None:
        self.end("start")

    def advance(self, rounds: int, row: Any) -> None:
        self.end("checkpoint")

    def on_round(self, round_number: int, cohort: Any, outcome: Any) -> None:
        self.end("round")

    def on_evaluation(self, row: Any, trained: Any) -> None:
        self.end("evaluation")


def _short_run(
    whole: Configuration, rounds: int, eval_every: int, share: float, folder: str
) -> Cost:
    """The costs in one run, in a folder of its own; `first` is the seconds of all of it."""
    process = time.process_time()
    with tempfile.TemporaryDirectory(dir=folder) as place:
        changed = {"rounds": rounds, "eval_every": eval_every, "output_dir": place}
        given = {**whole.settings, **changed, "keep_checkpoints": 1}
        short, clock = resolve(given, whole.registry), _Clock()
        summary = run_experiment(short, short.folder, progress=clock, callbacks=[clock]).summary
        clock.end("end")
        sizes = {f: f.stat().st_size for f in short.folder.rglob("*") if f.is_file()}
    checkpoint = sum(size for f, size in sizes.items() if f.parent.name == "checkpoints")
    # Other programs do not count, except where other processes or a GPU train the clients.
    device = summary.get("device", summary.get("tff_device", "cpu"))
    elsewhere = "num_workers" in summary or summary.get("tff_runtime") == "worker"
    outside = elsewhere or "cpu" not in str(device).lower()
    times: dict[str, list[float]] = {}
    for part, wall, work in clock.parts:
        times.setdefault(part, []).append(wall if outside else max(min(wall, work), share * work))
    seconds = sum(map(sum, times.values()))
    return Cost(
        first=seconds,
        start=times["start"][0] + times["end"][0],
        round=(sum(times["round"]) + sum(times["checkpoint"])) / rounds,
        evaluation=fmean(times["evaluation"]),
        process=process,
        memory_mib=peak_memory_mib(),
        bytes=(checkpoint, sum(sizes.values()) - checkpoint),
        # Work of other processes is not known: a run then takes its part of the machine.
        cores=1 / share if outside else sum(work for _, _, work in clock.parts) / seconds,
    )


def measure(order: Mapping[str, Any], share: float, folder: str) -> tuple[Cost, float]:
    """Measures a line by short runs.

    Args:
        order: A `PlannedRun.order` of the line.
        share: Number of runs at a time per core.
        folder: Folder for the runs' folders, which the caller removes.

    Returns:
        The costs, and the seconds that this took.
    """
    configuration = resolve_order(order)
    load_framework(configuration)
    cold = _short_run(configuration, 2, 1, share, folder)
    most = configuration.settings.training.rounds
    rounds = max(3, min(_ROUNDS, most)) if cold.first <= _LONG_S else 2
    again = configuration, rounds, configuration.settings.run.eval_every, share, folder
    compiling = _short_run(*again) if rounds > 2 else cold
    # The same rounds again compile nothing.
    warm = _short_run(*again)
    growth = [max(b - a, 0.0) / max(rounds - 2, 1) for a, b in zip(cold.bytes, warm.bytes)]
    cost = replace(
        warm,
        first=max(0.0, cold.first - warm.start - 2 * (warm.round + warm.evaluation)),
        process=cold.process,
        bytes=cold.bytes,
        growth=(growth[0], growth[1]),
    )
    return cost, cold.first + compiling.first + warm.first


def _begin() -> None:
    guard()
    # A run of few rounds is no better than a guess.
    logging.disable(logging.WARNING)


def _method(run: PlannedRun) -> str:
    return " ".join(str(run.settings[name]) for name in ("task", "model", "algorithm"))


def _measured(firsts: Mapping[str, PlannedRun], processes: int, stop: Stop) -> dict[str, Cost]:
    """The costs by line, given a run of each; beyond the limit those of the line most alike."""
    found: dict[str, Cost] = {}
    # One line of each method first.
    methods = list(map(_method, firsts.values()))
    turn = {line: methods[:i].count(methods[i]) for i, line in enumerate(firsts)}
    for environment in dict.fromkeys(run.environment for run in firsts.values()):
        of_it = {n: run.order for n, run in firsts.items() if run.environment == environment}
        orders = {line: of_it[line] for line in sorted(of_it, key=turn.__getitem__)}
        on_gpu = uses_gpu(environment) and visible_gpus(os.environ)
        at_once = 1 if on_gpu else min(processes, cores(), len(orders))
        found |= _in_processes(orders, at_once, processes / cores(), stop)
    for line, run in firsts.items():
        same = {len(run.settings.items() & firsts[n].settings.items()): found[n] for n in found}
        found.setdefault(line, same[max(same)])
    return found


def _in_processes(
    orders: Mapping[str, Mapping[str, Any]], at_once: int, share: float, stop: Stop
) -> dict[str, Cost]:
    """The costs by line that are measured within the limit, at least one."""
    found: dict[str, Cost] = {}
    others, waiting, spent = set(multiprocessing.active_children()), list(orders), 0.0
    busy: dict[Future[tuple[Cost, float]], str] = {}
    spawn = multiprocessing.get_context("spawn")
    # Removed here, as a killed process leaves its run.
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(at_once, spawn, initializer=_begin) as pool,
    ):
        try:
            while busy or (waiting and spent < _ALL_S * at_once):
                while waiting and len(busy) < at_once and spent < _ALL_S * at_once:
                    line = waiting.pop(0)
                    busy[pool.submit(measure, orders[line], share, folder)] = line
                for future in wait(busy, _POLL_S, FIRST_COMPLETED).done:
                    line, error = busy.pop(future), future.exception()
                    if isinstance(error, BrokenProcessPool):
                        # A signal to the whole group ends the processes too.
                        time.sleep(_POLL_S)
                    if stop.requested():
                        raise Interrupted
                    if error is not None:
                        name = orders[line]["settings"]["run_name"]
                        raise MeasurementError(f"{name}: {one_line_of(error)}") from error
                    found[line], seconds = future.result()
                    spent += seconds
                if stop.requested():
                    raise Interrupted
        finally:
            for child in set(multiprocessing.active_children()) - others:
                child.kill()
    if waiting:
        say(f"{len(waiting)} of {len(orders)} lines not measured, they cost what a like one does")
    return found


def campaign_seconds(
    runs: Sequence[PlannedRun], costs: Mapping[str, Cost], processes: int
) -> list[float]:
    """Returns the seconds of each process, given costs by line; free ones take the next run."""
    ends, known = [0.0] * processes, [set[Any]() for _ in range(processes)]
    for run in by_environment(runs):
        i = ends.index(min(ends))
        ends[i] += costs[run.line].seconds(run)
        ends[i] += 0.0 if run.line in known[i] else costs[run.line].first
        ends[i] += 0.0 if run.environment in known[i] else costs[run.line].process
        known[i] |= {run.line, run.environment}
    return ends


def shard_seconds(
    runs: Sequence[PlannedRun], costs: Mapping[str, Cost], processes: int
) -> dict[int, float]:
    """Returns the seconds of the longest shard by number of shards, each with these processes."""
    numbers = [n for n in _SHARDS if n * processes <= len(runs)]
    parts = {n: [deal(runs, Shard(i + 1, n)) for i in range(n)] for n in numbers}
    return {
        n: max(max(campaign_seconds(part, costs, processes)) for part in of_n)
        for n, of_n in parts.items()
    }


def print_estimate(runs: Sequence[PlannedRun], processes: int, folder: Path, stop: Stop) -> None:
    """Measures each distinct line and prints the cost of the remaining runs, in their order.

    Raises:
        MeasurementError: If a line cannot be run.
        Interrupted: If `stop`, polled every half second, was requested.
    """
    lacking = tasks_without_data(runs)
    there = [run for run in runs if run.settings["task"] not in lacking]
    if there:
        firsts = {run.line: run for run in reversed(there)}
        say(f"running some rounds of {len(firsts)} lines, for {_ALL_S:g} s of work per process ...")
        load = os.getloadavg()[0]
        with stop.hold():
            costs = _measured(firsts, processes, stop)
        _print_costs(there, costs, processes, folder, load)
    if lacking:
        show(f"not estimated: {len(runs) - len(there)} runs of {', '.join(lacking)}. Data that is")
        show("missing is fetched when the campaign starts, or put there by you:")
        show("\n".join(f"  {line}" for line in missing_files(runs)))
        for task in dict.fromkeys(run.settings["task"] for run in there):
            show(f"  --where=task={task} needs no data that is missing")


def _print_costs(
    runs: Sequence[PlannedRun], costs: Mapping[str, Cost], processes: int, folder: Path, load: float
) -> None:
    by_method: dict[str, list[tuple[PlannedRun, Cost]]] = {}
    for run in runs:
        by_method.setdefault(_method(run), []).append((run, costs[run.line]))
    width, disk = max(map(len, by_method)), 0.0
    show(f"{'':<{width}}  runs round, s scoring, s   hours    MiB disk MiB")
    for name, of_it in by_method.items():
        each, scoring = fmean(c.round for _, c in of_it), fmean(c.evaluation for _, c in of_it)
        hours = sum(cost.seconds(run) for run, cost in of_it) / 3600
        memory = max(cost.memory_mib for _, cost in of_it)
        kept = sum(cost.disk(r, r.settings.run.keep_checkpoints) for r, cost in of_it) / _MIB
        disk += kept
        numbers = f"{each:>8.3g} {scoring:>10.3g} {hours:>7.3g} {memory:>6.0f} {kept:>8.3g}"
        show(f"{name:<{width}} {len(of_it):>5} {numbers}")
    ends, at_a_time = campaign_seconds(runs, costs, processes), min(processes, len(runs))
    memory = at_a_time * max(cost.memory_mib for cost in costs.values())
    running = max(costs[run.line].disk(run, KEPT_WHILE_RUNNING) for run in runs)
    disk += at_a_time * running / _MIB
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    available, free = available_memory_bytes() / _MIB, shutil.disk_usage(there).free / _MIB
    rounds = sum(run.rounds - rounds_done(run) for run in runs)
    show(f"{len(runs)} runs left, {rounds} rounds: {_work(runs, costs, ends)}")
    for line in _wall(runs, max(ends), at_a_time, load):
        show(line)
    by_shards = shard_seconds(runs, costs, processes)
    if by_shards:
        told = ", ".join(f"{n} in {duration(seconds)}" for n, seconds in by_shards.items())
        show(f"in shards, each with {processes} at a time: {told}")
    show(f"memory {memory:.0f} MiB, {available:.0f} available; ", end="")
    show(f"disk {disk:.3g} MiB, {free:.0f} free")


def _work(runs: Sequence[PlannedRun], costs: Mapping[str, Cost], ends: Sequence[float]) -> str:
    """Core-hours of all runs, with what processes start and compile; or hours of GPUs."""
    if _on_gpu(runs):
        return f"{_hours(sum(ends))} GPU-hours"
    seconds = [costs[run.line].seconds(run) for run in runs]
    busy = sum(s * costs[run.line].cores for s, run in zip(seconds, runs)) / sum(seconds)
    return f"{_hours(sum(ends) * busy)} core-hours"


def _wall(runs: Sequence[PlannedRun], seconds: float, at_a_time: int, load: float) -> Iterator[str]:
    """Time until the last run ends: on an idle machine, and at a load of other programs."""
    yield f"{at_a_time} at a time: {duration(seconds)} if nothing else runs on {cores()} cores"
    slower = max(1.0, (at_a_time + load) / cores()) / max(1.0, at_a_time / cores())
    if slower >= _SLOWER and not _on_gpu(runs):
        took = duration(seconds * slower)
        yield f"  {took} beside other programs as busy as now (load {load:.1f})"


def _on_gpu(runs: Sequence[PlannedRun]) -> bool:
    return any(uses_gpu(run.environment) for run in runs) and bool(visible_gpus(os.environ))


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.3g}"
