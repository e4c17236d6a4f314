"""How far a campaign is: in its manifest, and in one live line on a terminal or a log's lines."""

from __future__ import annotations

import time

from f3ast_tff.campaigns.grid import Campaign
from f3ast_tff.campaigns.manifest import Manifest
from f3ast_tff.campaigns.pool import Worker
from f3ast_tff.campaigns.runs import FINISHED, Outcome, PlannedRun, rounds_done
from f3ast_tff.core.errors import Interrupted
from f3ast_tff.core.progress import duration, say, terminal_bar
from f3ast_tff.core.signals import Stop

_LINE_EVERY_S = 30.0
_DRAW_EVERY_S = 0.2


class CampaignProgress:
    """Counts of runs, rounds done, time left; failures as they happen."""

    def __init__(self, name: str, num_runs: int, rounds: int, done_before: int) -> None:
        """Starts the clock; rounds are of all runs, `done_before` of them done in earlier goes."""
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
        """Shows counts of runs and rounds done; unless `now`, not if it did a moment ago."""
        clock = time.monotonic()
        every = _LINE_EVERY_S if self._bar is None else _DRAW_EVERY_S
        if not now and clock - self._shown < every:
            return
        self._shown = clock
        counts = f"{done} done, {running} running, {failed} failed of {self._num_runs}"
        eta = f"ETA {self._time_left(rounds)}"
        if self._bar is None:
            share = 100 * rounds // max(1, self._rounds)
            say(f"{self._name}: {counts}, {share}% of the rounds, {eta}")
            return
        self._bar.set_description_str(f"{self._name}: {counts}", refresh=False)
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
        """Says at once that a run has failed."""
        say(f"{self._name}: {run} failed: {error}")

    def close(self) -> None:
        """Leaves the line as it is."""
        if self._bar is not None:
            self._bar.close()


class Watch:
    """Is told of what happens, and counts the runs that have finished, or failed in this go."""

    def __init__(self, campaign: Campaign, manifest: Manifest, stop: Stop) -> None:
        """Takes stock."""
        self._manifest = manifest
        self._stop = stop
        self._running: dict[str, PlannedRun] = {}
        # A finished run may have kept no checkpoint.
        self._rounds = {
            run.name: run.settings["rounds"]
            if manifest.state(run) == FINISHED
            else rounds_done(run)
            for run in campaign.runs
        }
        self.finished = sum(manifest.state(run) == FINISHED for run in campaign.runs)
        self.failed = 0
        total = sum(run.settings["rounds"] for run in campaign.runs)
        self._progress = CampaignProgress(
            campaign.name, len(campaign.runs), total, sum(self._rounds.values())
        )

    def started(self, run: PlannedRun, worker: Worker) -> None:
        """Takes note that a worker has begun a run, or goes on with it."""
        self._running[run.name] = run
        self._manifest.started(run, worker.name)

    def ended(self, run: PlannedRun, outcome: Outcome) -> None:
        """Takes note that a run has finished or failed."""
        del self._running[run.name]
        self._manifest.ended(run, outcome)
        if outcome.state == FINISHED:
            self.finished += 1
            self._rounds[run.name] = run.settings["rounds"]
        else:
            self.failed += 1
            self._progress.failure(run.name, outcome.error or "")

    def tick(self) -> None:
        """Shows and saves where things stand, now and then.

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
        self._progress.show(
            done=self.finished,
            running=len(self._running),
            failed=self.failed,
            rounds=sum(self._rounds.values()),
            now=now,
        )

    def close(self) -> None:
        """Shows and records where things stand."""
        self._manifest.interrupted()
        self._manifest.save()
        self._running.clear()
        self._show(now=True)
        self._progress.close()
