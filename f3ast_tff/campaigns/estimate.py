"""What is left of a campaign, in hours, memory and disk: before it starts."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from f3ast_tff.campaigns.costs import Cost, CostFile, key_of, kind_of, labels
from f3ast_tff.campaigns.measurement import measure
from f3ast_tff.campaigns.pool import by_environment
from f3ast_tff.campaigns.runs import PlannedRun, rounds_done
from f3ast_tff.process_memory import available_memory_bytes
from f3ast_tff.progress import duration, say
from f3ast_tff.signals import Stop
from f3ast_tff.training.checkpoint import KEPT_WHILE_RUNNING

_MIB = 2**20


@dataclass
class _Process:
    """A process of the campaign, as the estimate goes through its runs."""

    seconds: float
    environment: tuple[str, str] | None
    kinds: set[str]


def print_estimate(
    runs: Sequence[PlannedRun],
    processes: int,
    folder: Path,
    provenance: Mapping[str, Any],
    stop: Stop,
) -> None:
    """Measures the kinds that are not known yet, and prints what the runs cost.

    Args:
        runs: Those that are left, in their order.
        processes: At a time.
        folder: The campaign's folder, which need not exist.
        provenance: See `LocalProcesses`.
        stop: Asked every half a second.

    Raises:
        MeasurementError: If a run that is measured fails.
        Interrupted: If `stop` was requested; what was measured is kept.
    """
    by_kind: dict[str, list[PlannedRun]] = {}
    for run in runs:
        by_kind.setdefault(key_of(kind_of(run)), []).append(run)
    firsts = [of_kind[0] for of_kind in by_kind.values()]
    names = labels([kind_of(run) for run in firsts])
    file = CostFile()
    unknown = [run for run in firsts if file.find(kind_of(run), processes) is None]
    if unknown:
        say(f"measuring {len(unknown)} of {len(firsts)} kinds of runs ...")

        def keep(place: int, cost: Cost) -> None:
            file.add(kind_of(unknown[place]), processes, cost)

        with TemporaryDirectory(prefix="f3ast-tff-estimate-") as scratch, stop.hold():
            measure(unknown, processes, Path(scratch), provenance, stop, keep)
    costs = known_costs(runs, file, processes)
    assert costs is not None
    _print_kinds(by_kind, names, costs)
    _print_total(runs, costs, processes, folder, file)


def known_costs(
    runs: Sequence[PlannedRun], file: CostFile, processes: int
) -> dict[str, Cost] | None:
    """Returns the cost of each run by name; `None` if one has not been measured."""
    found = {run.name: file.find(kind_of(run), processes) for run in runs}
    known = {name: cost for name, cost in found.items() if cost is not None}
    return known if len(known) == len(found) else None


def campaign_seconds(
    runs: Sequence[PlannedRun], costs: Mapping[str, Cost], processes: int
) -> float:
    """Returns how long runs take, each by the process that is free first.

    Args:
        runs: In their order.
        costs: By the run's name.
        processes: At a time.
    """
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
    by_kind: Mapping[str, Sequence[PlannedRun]],
    names: Sequence[str],
    costs: Mapping[str, Cost],
) -> None:
    width = max(len(name) for name in ("kind", *names))
    columns = ("runs", "start", "round", "evaluation", "hours", "MiB memory", "MiB disk")
    print(f"{'kind':<{width}}" + "".join(f"  {column:>10}" for column in columns))
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
        print(f"{name:<{width}}" + "".join(f"  {value:>10}" for value in values))


def _print_total(
    runs: Sequence[PlannedRun],
    costs: Mapping[str, Cost],
    processes: int,
    folder: Path,
    file: CostFile,
) -> None:
    seconds = campaign_seconds(runs, costs, processes)
    at_a_time = min(processes, len(runs))
    memory = at_a_time * max(cost.memory_mib for cost in costs.values())
    running = max(costs[run.name].bytes(run.settings["rounds"], KEPT_WHILE_RUNNING) for run in runs)
    disk = _disk(runs, costs) + at_a_time * running
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    print(
        f"{len(runs)} runs left, {at_a_time} at a time: {duration(seconds)} "
        f"({seconds / 3600:.3g} h); memory {memory:.0f} MiB at most, "
        f"{available_memory_bytes() / _MIB:.0f} available; disk {disk / _MIB:.3g} MiB at most, "
        f"{shutil.disk_usage(there).free / _MIB:.0f} free"
    )
    print(f"measured on {file.machine['processor']}, {file.machine['cores']} cores; {file.path}")


def _disk(runs: Sequence[PlannedRun], costs: Mapping[str, Cost]) -> int:
    """Bytes of the finished runs."""
    return sum(
        costs[run.name].bytes(run.settings["rounds"], run.settings["keep_checkpoints"])
        for run in runs
    )
