"""`manifest.json`: a campaign's runs, what each came from, how it ended, its results' digests."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from typing import Any

from f3ast_tff.campaigns import runs
from f3ast_tff.campaigns.grid import Campaign
from f3ast_tff.campaigns.grid_file import CampaignError
from f3ast_tff.campaigns.runs import FINISHED, Outcome, PlannedRun, at, now
from f3ast_tff.core.atomic import atomic_write
from f3ast_tff.core.data_files import read_json
from f3ast_tff.run.results import SEALED

NAME = "manifest.json"
WAITING, RUNNING, INTERRUPTED = "waiting", "running", "interrupted"
_SAVE_EVERY_S = 1.0
# The file of a large campaign takes long to write: seldom enough that it costs 2% at most.
_SAVE_EVERY_COSTS = 50
_PROVENANCE = ("python", "packages", "git_commit", "git_modified")
# Fields of an earlier manifest that a run's folder does not hold.
_KEPT = ("started", "ended", "seconds", "worker")


class Manifest:
    """The manifest of a campaign while it runs.

    A crash loses at most its last second (more in a campaign of thousands of runs); the next start
    reads that from the runs' folders.
    """

    def __init__(self, campaign: Campaign, provenance: Mapping[str, Any]) -> None:
        """Takes stock of the runs' folders, and of the manifest before if there is one.

        Entries of runs that left the campaign stay, at the end.

        Raises:
            CampaignError: If a folder holds another run, or a file is damaged.
        """
        self._path = campaign.folder / NAME
        before = self._before()
        self._head = {
            "campaign": campaign.name,
            "about": campaign.about,
            "last_start": now(),
            **provenance,
        }
        self._entries = {run.name: _entry(run, before.get(run.name, {})) for run in campaign.runs}
        # Runs that this start leaves out, as with `--where`.
        self._others = [_ended(each) for name, each in before.items() if name not in self._entries]
        self._due = 0.0
        self._changed = True
        self.save()

    def _before(self) -> dict[str, dict[str, Any]]:
        if not self._path.exists():
            return {}
        try:
            content = read_json(self._path)
            return {entry["name"]: entry for entry in content["runs"]}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CampaignError(f"{self._path} is damaged ({error!r}); remove it") from error

    def state(self, run: PlannedRun) -> str:
        """Returns a run's state."""
        return str(self._entries[run.name]["state"])

    def error(self, run: PlannedRun) -> str | None:
        """Returns why a run failed, if it did."""
        error: str | None = self._entries[run.name]["error"]
        return error

    def started(self, run: PlannedRun, worker: str) -> None:
        """Says that a run has begun."""
        self._entries[run.name].update(state=RUNNING, worker=worker, started=now(), error=None)
        self._changed = True

    def ended(self, run: PlannedRun, outcome: Outcome) -> None:
        """Says how a run ended."""
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

    def interrupted(self) -> None:
        """Records that the active runs have been stopped."""
        for entry in self._entries.values():
            if entry["state"] == RUNNING:
                entry.update(state=INTERRUPTED, ended=now())
                self._changed = True

    def save(self, only_if_due: bool = False) -> None:
        """Writes the file, atomically; `only_if_due`: unless that was done a moment ago.

        Nothing is written if nothing has changed.
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


def _entry(run: PlannedRun, before: Mapping[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": run.name,
        "state": WAITING,
        "error": None,
        **dict.fromkeys(_KEPT),
        "settings": dict(run.settings),
    }
    if not runs.is_finished(run):
        return {**entry, **_of_folder(run)}
    entry.update(_of_folder(run), state=FINISHED)
    if before.get("state") == FINISHED and _results(before) == _results(entry):
        return {**entry, **{name: before.get(name) for name in _KEPT}}
    if before.get("state") == FINISHED:
        logging.warning("%s: results are not those that %s recorded", run.folder, NAME)
    # Finished just before the campaign was killed: the files' times are what is left.
    times = [runs.modified(run.folder / name) for name in ("config.json", "summary.json")]
    started, ended = (None if stamp is None else at(stamp) for stamp in times)
    return {**entry, "started": started, "ended": ended}


def _results(entry: Mapping[str, Any]) -> list[Any]:
    """SHA-256 of a run's results; the summary changes when it seals masks that are added."""
    files = entry.get("files")
    return [files.get(name) for name in SEALED] if isinstance(files, dict) else []


def _ended(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry of the manifest before; what ran then was stopped, as the folder is locked now."""
    return {**entry, "state": INTERRUPTED} if entry.get("state") == RUNNING else entry


def _of_folder(run: PlannedRun) -> dict[str, Any]:
    config = runs.read_config(run) or {}
    return {
        **{name: config.get(name) for name in _PROVENANCE},
        "files": runs.checksums(run),
    }
