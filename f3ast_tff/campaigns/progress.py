"""Progress of a campaign: its manifest, and a live line on a terminal or lines in a log."""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from f3ast_tff.campaigns.grid_file import CampaignError
from f3ast_tff.campaigns.planned import Campaign, shard_folders
from f3ast_tff.campaigns.runs import (
    FAILED,
    FINISHED,
    Outcome,
    PlannedRun,
    at,
    is_finished,
    now,
    rounds_done,
)
from f3ast_tff.core.errors import Interrupted
from f3ast_tff.files.atomic import atomic_write
from f3ast_tff.files.data_files import hash_of, read_json
from f3ast_tff.files.messages import printable
from f3ast_tff.files.progress import LINE_EVERY_S, duration, say, terminal_bar
from f3ast_tff.files.signals import Stop
from f3ast_tff.records.results import SEALED, SUMMARY
from f3ast_tff.records.run_folder import read_config

_LOG = logging.getLogger(__name__)

NAME = "manifest.json"
WAITING, RUNNING, INTERRUPTED = "waiting", "running", "interrupted"
_SAVE_EVERY_S = 1.0
# Least time between two writes, in times of a write, so that a large manifest costs at most 2%.
_SAVE_EVERY_COSTS = 50
_FIRST = "first_start"
_PROVENANCE = ("python", "packages", "git_commit", "git_modified")
# Fields of an earlier manifest that a run's folder does not hold.
_KEPT = ("started", "ended", "seconds", "worker")


class Manifest:
    """The manifest of a running campaign.

    A crash loses at most the last second (more in a campaign of thousands of runs); the next start
    recovers it from the runs' folders.
    """

    def __init__(self, campaign: Campaign, provenance: Mapping[str, Any]) -> None:
        """Reads the runs' folders and the earlier manifests, if any, also those of shards.

        Entries of runs that are no longer in the campaign stay, at the end.

        Raises:
            CampaignError: If the manifest is damaged.
            RunFolderError: If a folder holds another run, or a damaged `config.json`.
        """
        self._path = campaign.own_folder / NAME
        own, first = _entries(self._path), _first_start(campaign.folder)
        folders = [campaign.folder, *shard_folders(campaign.folder)]
        before = _latest([own, *(_entries(folder / NAME) for folder in folders)])
        self._head = {
            "campaign": campaign.name,
            "about": campaign.about,
            "shard": None if campaign.shard is None else str(campaign.shard),
            _FIRST: first or now(),
            "last_start": now(),
            **provenance,
        }
        self._entries = {run.name: _entry(run, before.get(run.name, {})) for run in campaign.runs}
        # Runs that this start leaves out, as with `--where`.
        kept = before if campaign.shard is None else own
        self._others = [_ended(each) for name, each in kept.items() if name not in self._entries]
        self._due = 0.0
        self._changed = True
        self.save()

    def state(self, run: PlannedRun) -> str:
        """Returns a run's state."""
        return str(self._entries[run.name]["state"])

    def started(self, run: PlannedRun, worker: str) -> None:
        """Records that a run has begun."""
        self._entries[run.name].update(state=RUNNING, worker=worker, started=now(), error=None)
        self._changed = True

    def ended(self, run: PlannedRun, outcome: Outcome) -> None:
        """Records the outcome of a run."""
        entry = self._entries[run.name]
        entry.update(
            state=outcome.state,
            error=outcome.error,
            worker=outcome.worker,
            started=outcome.started,
            ended=outcome.ended,
            seconds=round(outcome.seconds, 3),
        )
        entry.update(_of_folder(run))
        self._changed = True

    def interrupted(self, runs: Iterable[PlannedRun]) -> None:
        """Records that active runs have been stopped; one may have finished meanwhile."""
        for run in runs:
            entry, found = self._entries[run.name], _entry(run, {})
            if found["state"] == FINISHED:
                entry.update({**found, "worker": entry["worker"]})
            else:
                entry.update(state=INTERRUPTED, ended=now())
            self._changed = True

    def save(self, only_if_due: bool = False) -> None:
        """Writes the file atomically if it has changed.

        With `only_if_due` it is not written if it was written a moment ago.
        """
        started = time.monotonic()
        if not self._changed or (only_if_due and started < self._due):
            return
        with atomic_write(self._path) as file:
            entries = [*self._entries.values(), *self._others]
            json.dump({**self._head, "runs": entries}, file, indent=1)
            file.write("\n")
        self._changed = False
        ended = time.monotonic()
        self._due = ended + max(_SAVE_EVERY_S, _SAVE_EVERY_COSTS * (ended - started))


def first_start(folder: Path) -> datetime | None:
    """Returns when the first run of a campaign's folder began; `None` if no manifest says it.

    Raises:
        CampaignError: If a manifest is damaged.
    """
    found = _first_start(folder)
    try:
        return None if found is None else datetime.fromisoformat(found)
    except ValueError as error:
        raise CampaignError(f"{folder / NAME} is damaged ({error})") from error


def _first_start(folder: Path) -> str | None:
    """The earliest time in the manifests: as texts of one format they are in order."""
    starts = []
    for each in (folder, *shard_folders(folder)):
        head, runs = _read(each / NAME)
        # A run that went on has the time of its last start.
        starts += [head.get(_FIRST), *(entry.get("started") for entry in runs.values())]
    return min(filter(None, starts), default=None)


def _entries(path: Path) -> dict[str, dict[str, Any]]:
    """The entries of a manifest, by run; empty if there is none."""
    return _read(path)[1]


def _read(path: Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """A manifest, and its entries by run; both empty if there is none."""
    if not path.exists():
        return {}, {}
    try:
        content = read_json(path)
        return dict(content), {entry["name"]: entry for entry in content["runs"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CampaignError(f"{path} is damaged ({error!r}); remove it") from error


def _latest(manifests: Iterable[Mapping[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """The entry of each run that ended last."""
    found: dict[str, dict[str, Any]] = {}
    for entries in manifests:
        for name, entry in entries.items():
            if str(entry.get("ended") or "") >= str(found.get(name, {}).get("ended") or ""):
                found[name] = entry
    return found


def _entry(run: PlannedRun, before: Mapping[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": run.name,
        "state": WAITING,
        "error": None,
        **dict.fromkeys(_KEPT),
        "settings": dict(run.settings),
    }
    if not is_finished(run):
        return {**entry, **_of_folder(run)}
    entry.update(_of_folder(run), state=FINISHED)
    if before.get("state") == FINISHED and _results(before) == _results(entry):
        return {**entry, **{name: before.get(name) for name in _KEPT}}
    if before.get("state") == FINISHED:
        _LOG.warning("%s: results are not those that %s recorded", run.folder, NAME)
    # The run finished just before the campaign was killed: only the times of files are known.
    files = [run.folder / name for name in ("config.json", SUMMARY)]
    started, ended = (at(path.stat().st_mtime) for path in files)
    return {**entry, "started": started, "ended": ended}


def _results(entry: Mapping[str, Any]) -> list[Any]:
    """SHA-256 of a run's sealed results; the summary is left out, as added masks change it."""
    files = entry.get("files")
    return [files.get(name) for name in SEALED] if isinstance(files, dict) else []


def _ended(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry of the earlier manifest; active runs were stopped, as the folder is locked now."""
    return {**entry, "state": INTERRUPTED} if entry.get("state") == RUNNING else entry


def _of_folder(run: PlannedRun) -> dict[str, Any]:
    config = read_config(run.folder) or {}
    results = [name for name in (*SEALED, SUMMARY) if (run.folder / name).is_file()]
    return {
        **{name: config.get(name) for name in _PROVENANCE},
        "files": {name: hash_of(run.folder / name) for name in results},
    }


_DRAW_EVERY_S = 0.2


class CampaignProgress:
    """Counts of runs, rounds done, time left; failures as they happen."""

    def __init__(self, name: str, num_runs: int, rounds: int, done_before: int) -> None:
        """Starts the clock; `rounds` counts all runs, `done_before` the rounds of earlier calls."""
        self._name = name
        self._num_runs = num_runs
        self._rounds = rounds
        self._done_before = done_before
        self._started = time.monotonic()
        self._shown = float("-inf")
        self._bar = terminal_bar(
            total=rounds,
            initial=done_before,
            bar_format="{desc} |{bar}| {percentage:.0f}%{postfix}",
        )

    def show(self, done: int, running: int, failed: int, rounds: int, now: bool = False) -> None:
        """Shows counts of runs and rounds done, but seldom unless `now`."""
        clock = time.monotonic()
        every = LINE_EVERY_S if self._bar is None else _DRAW_EVERY_S
        if not now and clock - self._shown < every:
            return
        self._shown = clock
        counts = f"{done} done, {running} running, {failed} failed of {self._num_runs}"
        eta = f"ETA {self._time_left(rounds)}"
        if self._bar is None:
            share = 100 * rounds // max(1, self._rounds)
            say(f"{self._name}: {counts}, {share}% of the rounds, {eta}")
            return
        self._bar.set_description_str(printable(f"{self._name}: {counts}"), refresh=False)
        self._bar.set_postfix_str(eta, refresh=False)
        self._bar.n = rounds
        self._bar.refresh()

    def _time_left(self, rounds: int) -> str:
        done = rounds - self._done_before
        if done <= 0:
            return "?"
        passed = time.monotonic() - self._started
        return duration(passed / done * (self._rounds - rounds))

    def failure(self, run: str, error: str) -> None:
        """Reports a failed run at once."""
        say(f"{self._name}: {run} failed: {error}")

    def close(self) -> None:
        """Leaves the line as it is."""
        if self._bar is not None:
            self._bar.close()


class Watch:
    """Records the events of this call, and shows the progress."""

    def __init__(self, campaign: Campaign, manifest: Manifest, stop: Stop) -> None:
        """Takes stock."""
        self._campaign = campaign
        self._manifest = manifest
        self._stop = stop
        self._running: dict[str, PlannedRun] = {}
        # A finished run may have kept no checkpoint.
        self._rounds = {
            run.name: run.rounds if manifest.state(run) == FINISHED else rounds_done(run)
            for run in campaign.runs
        }
        total = sum(run.rounds for run in campaign.runs)
        self._progress = CampaignProgress(
            campaign.said,
            num_runs=len(campaign.runs),
            rounds=total,
            done_before=sum(self._rounds.values()),
        )

    def started(self, run: PlannedRun, worker: str) -> None:
        """Records that a worker has begun or resumed a run."""
        self._running[run.name] = run
        self._manifest.started(run, worker)

    def ended(self, run: PlannedRun, outcome: Outcome) -> None:
        """Records that a run has finished or failed."""
        del self._running[run.name]
        self._manifest.ended(run, outcome)
        if outcome.state == FINISHED:
            self._rounds[run.name] = run.rounds
        else:
            self._progress.failure(run.name, outcome.error or "")

    def tick(self) -> None:
        """Shows and saves the progress now and then.

        Raises:
            Interrupted: If a stop was requested.
        """
        if self._stop.requested():
            raise Interrupted
        for run in self._running.values():
            self._rounds[run.name] = max(self._rounds[run.name], rounds_done(run))
        self._show()
        self._manifest.save(only_if_due=True)

    def _show(self, now: bool = False) -> None:
        states = Counter(map(self._manifest.state, self._campaign.runs))
        self._progress.show(
            done=states[FINISHED],
            running=len(self._running),
            failed=states[FAILED],
            rounds=sum(self._rounds.values()),
            now=now,
        )

    def close(self) -> None:
        """Shows and saves the progress."""
        self._manifest.interrupted(self._running.values())
        self._manifest.save()
        self._running.clear()
        self._show(now=True)
        self._progress.close()
