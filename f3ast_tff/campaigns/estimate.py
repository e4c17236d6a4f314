"""A campaign's remaining cost in hours, memory and disk; and its time budget.

Under a time budget a run starts only if it can reach a checkpoint, and runs stop at the end.
"""

from __future__ import annotations

import math
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from textwrap import wrap

from f3ast_tff.campaigns.costs import (
    Cost,
    CostFile,
    ReferenceCosts,
    StepCost,
    key_of,
    kind_of,
    labels,
    step_kind,
)
from f3ast_tff.campaigns.measurement import LIMIT_S, MeasurementError, measure
from f3ast_tff.campaigns.pool import by_environment
from f3ast_tff.campaigns.runs import PlannedRun, missing_files, rounds_done, tasks_without_data
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files.process_memory import available_memory_bytes
from f3ast_tff.files.progress import duration, say
from f3ast_tff.files.signals import Stop
from f3ast_tff.records.checkpoint import KEPT_WHILE_RUNNING

_MIB = 2**20
_NAME_WIDTH = 40
# Share of the cores taken by other work from which a warning is printed.
_BUSY = 0.25


@dataclass
class _Process:
    """State of a process of the campaign while the estimate goes through its runs."""

    seconds: float
    environment: tuple[str, str] | None
    kinds: set[str]


def print_estimate(runs: Sequence[PlannedRun], processes: int, folder: Path, stop: Stop) -> None:
    """Measures unknown steps and prints the cost of the remaining runs, in their order.

    Raises:
        MeasurementError: If steps cannot be measured, or not in time and without a reference.
        Interrupted: If `stop` was requested; measurements are kept.
    """
    by_kind: dict[str, list[PlannedRun]] = {}
    for run in runs:
        by_kind.setdefault(key_of(kind_of(run)), []).append(run)
    firsts = [of_kind[0] for of_kind in by_kind.values()]
    file = CostFile()
    steps = _measured(firsts, file, processes, stop)
    costs = {run.name: steps[key_of(step_kind(run))].of_run(run) for run in runs}
    _print_kinds(by_kind, labels([kind_of(run) for run in firsts]), costs)
    _print_total(runs, costs, processes, folder)
    _print_missing(runs)
    print(f"steps measured on {file.machine['processor']}, {file.machine['cores']} cores")
    print(f"kept in {file.path}")
    load, cores = os.getloadavg()[0], file.machine["cores"]
    if load > _BUSY * cores:
        print(f"load now {load:.1f} on {cores} cores: beside other work runs take longer than said")


def _measured(
    firsts: Sequence[PlannedRun], file: CostFile, processes: int, stop: Stop
) -> dict[str, StepCost]:
    """The costs of steps by `step_kind`: from the file, measured now, or from a reference."""
    found: dict[str, StepCost] = {}
    unknown: dict[str, PlannedRun] = {}
    ratios: list[float] = []
    reference = ReferenceCosts()

    def take(run: PlannedRun, cost: StepCost) -> None:
        found[key_of(step_kind(run))] = cost
        known = reference.find(run)
        if known is not None and known.step_seconds > 0:
            ratios.append(cost.step_seconds / known.step_seconds)

    for run in firsts:
        cost = file.find(run)
        if cost is None:
            unknown.setdefault(key_of(step_kind(run)), run)
        else:
            take(run, cost)

    def keep(run: PlannedRun, cost: StepCost) -> None:
        file.add(run, cost)
        take(run, cost)

    if unknown:
        say(f"measuring the steps of {len(unknown)} models, for {LIMIT_S:g} s at most ...")
        with stop.hold():
            measure(list(unknown.values()), processes, stop, keep)
    for key, run in unknown.items():
        if key not in found:
            known = reference.find(run)
            what = " ".join(str(run.settings[name]) for name in ("task", "model", "engine"))
            if known is None:
                raise MeasurementError(f"{what}: no step was measured within {LIMIT_S:g} s")
            found[key] = known.scaled(median(ratios) if ratios else 1.0)
            say(f"{what}: by its reference, measured on {reference.machine}")
    return found


def campaign_seconds(
    runs: Sequence[PlannedRun], costs: Mapping[str, Cost], processes: int
) -> float:
    """Returns the duration of all runs, given costs by run name; free processes take the next."""
    pool = [_Process(0.0, None, set()) for _ in range(processes)]
    for run in by_environment(runs):
        cost, kind = costs[run.name], key_of(kind_of(run))
        process = min(pool, key=lambda each: each.seconds)
        if process.environment != run.environment:
            process.environment, process.kinds = run.environment, set()
            process.seconds += cost.process_seconds
        process.seconds += _seconds(run, cost, first=kind not in process.kinds)
        process.kinds.add(kind)
    return max(process.seconds for process in pool)


def _seconds(run: PlannedRun, cost: Cost, first: bool) -> float:
    settings = run.settings
    return cost.seconds(settings["rounds"], settings["eval_every"], rounds_done(run), first)


def _print_kinds(
    by_kind: Mapping[str, Sequence[PlannedRun]], names: Sequence[str], costs: Mapping[str, Cost]
) -> None:
    width = min(_NAME_WIDTH, max(len(name) for name in ("kind", *names)))
    widths = (5, 8, 9, 9, 7, 6, 8)
    columns = ("runs", "start", "round", "scoring", "hours", "MiB", "disk MiB")
    heads = (f" {column:>{n}}" for column, n in zip(columns, widths))
    print(f"{'kind':<{width}}" + "".join(heads))
    for name, runs in zip(names, by_kind.values()):
        cost = costs[runs[0].name]
        hours = sum(_seconds(run, cost, first=False) for run in runs) / 3600
        values = (
            str(len(runs)),
            f"{cost.start_seconds:.1f} s",
            f"{cost.round_seconds:.3g} s",
            f"{cost.evaluation_seconds:.3g} s",
            f"{hours:.3g}",
            f"{cost.memory_mib:.0f}",
            f"{_disk(runs, costs) / _MIB:.3g}",
        )
        cells = (f" {value:>{n}}" for value, n in zip(values, widths))
        first, *further = wrap(name, width, subsequent_indent="  ")
        print(f"{first:<{width}}" + "".join(cells))
        print("".join(f"{line}\n" for line in further), end="")


def _print_total(
    runs: Sequence[PlannedRun], costs: Mapping[str, Cost], processes: int, folder: Path
) -> None:
    seconds = campaign_seconds(runs, costs, processes)
    at_a_time = min(processes, len(runs))
    memory = at_a_time * max(cost.memory_mib for cost in costs.values())
    running = max(_folder_bytes(run, costs[run.name], KEPT_WHILE_RUNNING) for run in runs)
    disk = _disk(runs, costs) + at_a_time * running
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    hours = f"{duration(seconds)} ({seconds / 3600:.3g} h)"
    rounds = sum(run.settings["rounds"] - rounds_done(run) for run in runs)
    print(f"{len(runs)} runs left, {at_a_time} at a time: {hours}; {rounds} rounds")
    print(
        f"memory {memory:.0f} MiB at most, {available_memory_bytes() / _MIB:.0f} available; "
        f"disk {disk / _MIB:.3g} MiB at most, {shutil.disk_usage(there).free / _MIB:.0f} free"
    )


def _print_missing(runs: Sequence[PlannedRun]) -> None:
    missing = missing_files(runs)
    if not missing:
        return
    print("missing data, fetched when the campaign starts, or put there by you:")
    print("\n".join(f"  {line}" for line in missing))
    tasks = dict.fromkeys(str(run.settings["task"]) for run in runs)
    whole = [task for task in tasks if task not in tasks_without_data(runs)]
    for task in whole or (tasks if len(tasks) > 1 else ()):
        needs = "no data that is missing" if whole else "its own alone"
        print(f"  --where=task={task} needs {needs}")


def _disk(runs: Sequence[PlannedRun], costs: Mapping[str, Cost]) -> int:
    """Bytes of the finished runs."""
    return sum(
        _folder_bytes(run, costs[run.name], run.settings["keep_checkpoints"]) for run in runs
    )


def _folder_bytes(run: PlannedRun, cost: Cost, checkpoints: int) -> int:
    return cost.bytes(run.settings["rounds"], run.settings["eval_every"], checkpoints)


# Least remaining seconds to start a run of an unmeasured kind; at most half of the budget.
_UNKNOWN_S = 30.0


class Budget:
    """A time budget of one call of the command, as a `Stop` requested when it is over."""

    def __init__(self, minutes: float | None, stop: Stop) -> None:
        """Starts the clock; `minutes` is `None` for no limit; `stop` may request a stop earlier."""
        self._minutes = minutes
        self._started = time.monotonic()
        seconds = math.inf if minutes is None else 60 * minutes
        self._deadline = self._started + seconds
        self._unknown = min(_UNKNOWN_S, seconds / 2)
        self._stop = stop
        self._costs = None if minutes is None else CostFile()

    @property
    def spent(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() >= self._deadline

    def allows(self, run: PlannedRun) -> bool:
        """Returns whether a run that starts now reaches a checkpoint."""
        if self._costs is None:
            return True
        return time.monotonic() + self._need(run, self._costs) <= self._deadline

    def _need(self, run: PlannedRun, costs: CostFile) -> float:
        steps = costs.find(run)
        return self._unknown if steps is None else steps.of_run(run).least_seconds

    def refuse_too_short(self, runs: Sequence[PlannedRun], once: float = 0.0) -> None:
        """Refuses a budget in which no remaining run would start, now or in any later call.

        `once` is the time of this call that later calls do not need, in seconds.

        Raises:
            ParameterError: If the budget allows no run; names the time needed.
        """
        costs = self._costs
        if self._minutes is None or costs is None:
            return
        before = time.monotonic() - self._started - once
        left = 60 * self._minutes - before
        if any(self._need(run, costs) <= left for run in runs):
            return
        need = min(self._need(run, costs) for run in runs)
        # Half of a longer budget is longer.
        need = _UNKNOWN_S if need == self._unknown else need
        enough = (math.floor((before + need) / 6) + 1) / 10
        allowed = f"must be at least {enough:g}: no run would reach a checkpoint before"
        raise ParameterError("minutes", self._minutes, allowed)

    def hold(self) -> AbstractContextManager[None]:
        return self._stop.hold()

    def requested(self) -> bool:
        return self.spent or self._stop.requested()
