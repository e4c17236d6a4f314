"""From what happens to the manifest and the progress view."""

from __future__ import annotations

from f3ast_tff.campaigns import run_state
from f3ast_tff.campaigns.grid import Campaign, PlannedRun
from f3ast_tff.campaigns.manifest import Manifest
from f3ast_tff.campaigns.outcome import FINISHED, Outcome
from f3ast_tff.campaigns.progress import CampaignProgress
from f3ast_tff.campaigns.workers import Worker


class Watch:
    """Keeps count; a `Watcher`.

    Attributes:
        finished: Runs that have finished in this go, or before.
        failed: Runs that have failed in this go.
    """

    def __init__(self, campaign: Campaign, manifest: Manifest) -> None:
        """Takes stock."""
        self._manifest = manifest
        self._running: dict[str, PlannedRun] = {}
        self._rounds = {run.name: run_state.rounds_done(run) for run in campaign.runs}
        self.finished = sum(manifest.state(run) == FINISHED for run in campaign.runs)
        self.failed = 0
        total = sum(run.settings.rounds for run in campaign.runs)
        self._progress = CampaignProgress(
            campaign.name, len(campaign.runs), total, sum(self._rounds.values())
        )

    def started(self, run: PlannedRun, worker: Worker) -> None:
        """See `Watcher.started`."""
        self._running[run.name] = run
        self._manifest.started(run, worker.name)

    def ended(self, run: PlannedRun, outcome: Outcome) -> None:
        """See `Watcher.ended`."""
        del self._running[run.name]
        self._manifest.ended(run, outcome)
        if outcome.state == FINISHED:
            self.finished += 1
            self._rounds[run.name] = run.settings.rounds
        else:
            self.failed += 1
            self._progress.failure(run.name, outcome.error or "")

    def tick(self) -> None:
        """See `Watcher.tick`."""
        for run in self._running.values():
            self._rounds[run.name] = run_state.rounds_done(run)
        self._show()
        self._manifest.save(only_if_due=True)

    def _show(self, now: bool = False) -> None:
        counts = (self.finished, len(self._running), self.failed)
        self._progress.show(*counts, sum(self._rounds.values()), now)

    def close(self) -> None:
        """Shows and records where things stand."""
        self._manifest.interrupted()
        self._manifest.save()
        self._running.clear()
        self._show(now=True)
        self._progress.close()
