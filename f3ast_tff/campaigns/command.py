"""`f3ast-tff campaign`: plans, lists, estimates and runs."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from f3ast_tff.campaigns import Options
from f3ast_tff.campaigns.budget import Budget
from f3ast_tff.campaigns.estimate import print_estimate
from f3ast_tff.campaigns.grid import plan
from f3ast_tff.campaigns.grid_file import find_grid_file
from f3ast_tff.campaigns.isolated_run import COMPILED
from f3ast_tff.campaigns.planned import Campaign, lock, shard_in
from f3ast_tff.campaigns.pool import Workers, execute_all
from f3ast_tff.campaigns.processes import LocalProcesses, default_processes
from f3ast_tff.campaigns.progress import NAME as MANIFEST
from f3ast_tff.campaigns.progress import WAITING, Manifest, Watch
from f3ast_tff.campaigns.ray_cluster import RayCluster
from f3ast_tff.campaigns.runs import FAILED as FAILED_RUN
from f3ast_tff.campaigns.runs import FINISHED, PlannedRun, check_data, is_finished, rounds_done
from f3ast_tff.core.errors import Interrupted, ParameterError
from f3ast_tff.files.atomic import remove_temporaries
from f3ast_tff.files.messages import show
from f3ast_tff.files.progress import duration, say, warnings_said
from f3ast_tff.files.signals import NeverStop, Stop
from f3ast_tff.records.outputs import lacks_outputs, not_added
from f3ast_tff.records.provenance import provenance
from f3ast_tff.records.run_folder import RunFolder, read_config
from f3ast_tff.run.begun import add_outputs
from f3ast_tff.settings import Registry

FAILED = 1
# Exit code `EX_TEMPFAIL`: call again.
LEFT = 75
# Opening data files takes less; a longer time includes fetching, which happens once.
_OPENING_S = 30.0


def run_campaign(
    options: Options, given: Mapping[str, Any], registry: Registry, stop: Stop | None = None
) -> int:
    """Runs or resumes a campaign.

    Args:
        options: Options of the command.
        given: Settings for all runs, by name, that replace the campaign's. They may hold `draw`,
            and `ray_address` for the cluster that executes the runs.
        registry: Known components.
        stop: Request to stop, polled every half second.

    Returns:
        The exit code: 0 if all runs have finished, `LEFT` if time ran out, `FAILED` if a run has
        failed.

    Raises:
        CampaignError: If the campaign's file or manifest cannot be used.
        ComponentError: If a component breaks its protocol when outputs are added to a run.
        RunFolderError: If the campaign's folder, or the folder of a run, cannot be used.
        DataError: If a data file is missing or damaged; no run has started.
        Interrupted: If `stop` was requested; runs have written checkpoints.
        MeasurementError: If a run measured for an estimate fails.
        ParameterError: If a setting, or an option, is not allowed; if `minutes` are too few for a
            checkpoint.
    """
    with warnings_said():
        return _run_campaign(options, given, registry, stop or NeverStop())


def _run_campaign(
    options: Options, given: Mapping[str, Any], registry: Registry, stop: Stop
) -> int:
    _check(options)
    shard = None if options.shard is None else shard_in(options.shard)
    ray_address = given.get("ray_address")
    campaign = plan(
        find_grid_file(options.campaign or ""),
        {name: value for name, value in given.items() if name != "ray_address"},
        where=options.where,
        registry=registry,
    )
    if shard is not None:
        campaign = campaign.part(shard)
    if options.list:
        _list(campaign)
        return 0
    if options.estimate:
        _estimate(campaign, options, ray_address, stop)
        return 0
    with _locked(campaign):
        return _run(campaign, options, ray_address, stop)


def _check(options: Options) -> None:
    if options.list and options.estimate:
        raise ParameterError("estimate", True, "must not be given with list, which runs nothing")
    if options.minutes is not None and (options.list or options.estimate):
        other = "list" if options.list else "estimate"
        allowed = f"must not be given with {other}, which runs none of the campaign"
        raise ParameterError("minutes", options.minutes, allowed)


@contextmanager
def _locked(campaign: Campaign) -> Iterator[None]:
    held = lock(campaign.folder, campaign.shard)
    with ExitStack() as stack:
        stack.callback(held.release)
        stack.callback(_remove_compiled, campaign)
        _remove_compiled(campaign)
        remove_temporaries(campaign.own_folder)
        yield


def _remove_compiled(campaign: Campaign) -> None:
    shutil.rmtree(campaign.own_folder / COMPILED, ignore_errors=True)


def _run(campaign: Campaign, options: Options, ray_address: str | None, stop: Stop) -> int:
    started = time.monotonic()
    processes = _processes(campaign, options)
    budget = Budget(options.minutes, stop)
    origin = provenance()
    manifest = Manifest(campaign, origin)
    waiting = [run for run in campaign.runs if manifest.state(run) != FINISHED]
    before = len(campaign.runs) - len(waiting)
    rounds_before, fetching = sum(map(rounds_done, waiting)), 0.0
    _add_outputs(campaign.said, [r for r in campaign.runs if manifest.state(r) == FINISHED])
    if waiting:
        with ExitStack() as stack:
            workers = _workers(options, processes, ray_address, campaign.own_folder, origin, stack)
            ready = time.monotonic()
            check_data(waiting)
            fetching = max(0.0, time.monotonic() - ready - _OPENING_S)
            budget.refuse_too_short(once=fetching)
            watch = Watch(campaign, manifest, budget)
            stack.callback(watch.close)
            stack.enter_context(budget.hold())
            try:
                execute_all(waiting, workers=workers, watcher=watch, allows=budget.allows)
            except Interrupted:
                if stop.requested():
                    raise
    left = [run for run in waiting if manifest.state(run) not in (FINISHED, FAILED_RUN)]
    _report(campaign, manifest, before, left, time.monotonic() - started)
    if left:
        begun = any(manifest.state(run) != WAITING for run in left)
        same = len(left) == len(waiting) and sum(map(rounds_done, left)) == rounds_before
        if begun and same and not fetching:
            budget.refuse_standstill()
        return LEFT
    return 0 if all(manifest.state(run) == FINISHED for run in waiting) else FAILED


def _add_outputs(name: str, finished: Sequence[PlannedRun]) -> None:
    """Adds newly requested outputs to finished runs, as far as still possible."""
    left_out: Counter[str] = Counter()
    for run in finished:
        if lacks_outputs(run.folder, run.settings.run):
            with closing(RunFolder(run.folder, run.identity)) as folder:
                add_outputs(folder, run.configuration)
        recorded = (read_config(run.folder) or {}).get("settings", {})
        left_out.update(not_added(run.folder, run.configuration, recorded))
    for what, runs in left_out.items():
        say(f"{name}: {what}: not added to {runs} finished runs")


def _processes(campaign: Campaign, options: Options) -> int:
    return options.processes or default_processes(run.environment for run in campaign.runs)


def _workers(
    options: Options,
    processes: int,
    ray_address: str | None,
    folder: Path,
    origin: Mapping[str, Any],
    stack: ExitStack,
) -> Workers:
    if ray_address is None:
        return LocalProcesses(processes, folder.absolute(), origin)
    cluster = RayCluster(
        ray_address, slots=options.processes, campaign=folder, command=origin["command"]
    )
    stack.callback(cluster.close)
    return cluster


def _estimate(campaign: Campaign, options: Options, ray_address: str | None, stop: Stop) -> None:
    if ray_address is not None:
        allowed = "must not be given with estimate, which measures this machine"
        raise ParameterError("ray_address", ray_address, allowed)
    left = [run for run in campaign.runs if not is_finished(run)]
    if not left:
        show(f"{_place(campaign)}: all {len(campaign.runs)} runs have finished")
        return
    print_estimate(left, _processes(campaign, options), campaign.folder, stop)


def _list(campaign: Campaign) -> None:
    show(f"{campaign.said}: {' '.join(campaign.about.split())}")
    for run in campaign.runs:
        done = rounds_done(run)
        state = "finished" if is_finished(run) else f"round {done}" if done else "new"
        show(f"{run.folder}  {state}, {run.rounds} rounds")
    show(f"{len(campaign.runs)} runs")


def _report(
    campaign: Campaign, manifest: Manifest, before: int, left: Sequence[PlannedRun], seconds: float
) -> None:
    finished = sum(manifest.state(run) == FINISHED for run in campaign.runs)
    failed = len(campaign.runs) - finished - len(left)
    # Each failed run was named with its error when it failed.
    named = " (named above)" if failed else ""
    show(
        f"{_place(campaign)}: {finished} of {len(campaign.runs)} runs finished "
        f"({before} of them before), {failed} failed{named}, in {duration(seconds)}; "
        f"{_still(left)}{campaign.own_folder / MANIFEST}"
    )


def _place(campaign: Campaign) -> str:
    shard = "" if campaign.shard is None else f", shard {campaign.shard}"
    return f"{campaign.folder}{shard}"


def _still(left: Sequence[PlannedRun]) -> str:
    """Describes the work left for the next call after a time budget."""
    if not left:
        return ""
    begun = [done for done in map(rounds_done, left) if done]
    total = sum(run.rounds for run in left)
    return (
        f"{len(left)} runs left, {len(begun)} of them begun, {total - sum(begun)} rounds: "
        "the same command goes on; "
    )
