"""Keeps the workers of a campaign busy and replaces lost workers."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from f3ast_tff.campaigns.runs import FAILED, LOST, Outcome, PlannedRun

if TYPE_CHECKING:
    from f3ast_tff.campaigns.progress import Watch

_LOG = logging.getLogger(__name__)

_TICK_S = 0.5
# Number of attempts: a run whose process died is retried once.
_ATTEMPTS = 2


class Worker(Protocol):
    """A process, of this machine or of a cluster, that executes runs one by one.

    Attributes:
        name: Name for messages.
    """

    name: str

    def submit(self, run: PlannedRun) -> None:
        """Starts a run; the previous run must have ended."""
        ...

    def outcome(self) -> Outcome:
        """Waits for the end of the run and returns its outcome; `LOST` if the process is gone."""
        ...

    def close(self) -> None:
        """Ends the process and its run, which can be resumed; a second call does nothing."""
        ...


class Workers(Protocol):
    """Source of worker processes, at most `slots` at a time."""

    slots: int

    def start(self, environment: tuple[str, str]) -> Worker:
        """Starts a process for runs of this `PlannedRun.environment`."""
        ...

    def ended(self, busy: Sequence[Worker], seconds: float) -> list[Worker]:
        """Returns the workers whose run has ended; waits at most `seconds` for one."""
        ...


def by_environment(runs: Sequence[PlannedRun]) -> list[PlannedRun]:
    """Returns runs grouped by environment, otherwise in their order."""
    order = {env: i for i, env in enumerate(dict.fromkeys(run.environment for run in runs))}
    return sorted(runs, key=lambda run: order[run.environment])


def execute_all(
    runs: Sequence[PlannedRun],
    workers: Workers,
    watcher: Watch,
    allows: Callable[[PlannedRun], bool] = lambda run: True,
) -> None:
    """Executes runs grouped by environment, otherwise in their order.

    There are at most as many runs at a time as slots. Exceptions of the watcher, and Ctrl-C, end
    all workers. Runs that `allows` refuses are left out.
    """
    waiting = deque(by_environment(runs))
    attempts: dict[str, int] = {}
    busy: dict[Worker, PlannedRun] = {}
    idle: list[tuple[tuple[str, str], Worker]] = []
    try:
        ended: list[tuple[PlannedRun, Outcome]] = []
        while waiting or busy:
            begun = []
            while waiting and len(busy) < workers.slots:
                run = waiting.popleft()
                if not allows(run):
                    continue
                worker = _worker_for(run, workers, idle)
                busy[worker] = run
                attempts[run.name] = attempts.get(run.name, 0) + 1
                worker.submit(run)
                begun.append((run, worker))
            # After starting new runs, so that no worker waits for the bookkeeping.
            _tell(watcher, ended, begun)
            ended = []
            if not busy:
                continue
            for worker in workers.ended(list(busy), _TICK_S):
                outcome = worker.outcome()
                run = busy.pop(worker)
                if outcome.state != LOST:
                    idle.append((run.environment, worker))
                    ended.append((run, outcome))
                    continue
                worker.close()
                if attempts[run.name] < _ATTEMPTS:
                    _LOG.warning("%s: %s; trying again", run.name, outcome.error)
                    waiting.appendleft(run)
                else:
                    error = f"{outcome.error}; tried {_ATTEMPTS} times"
                    ended.append((run, replace(outcome, state=FAILED, error=error)))
        _tell(watcher, ended, [])
    finally:
        _close_all([*busy, *(worker for _, worker in idle)])


def _tell(
    watcher: Watch,
    ended: Sequence[tuple[PlannedRun, Outcome]],
    begun: Sequence[tuple[PlannedRun, Worker]],
) -> None:
    for run, outcome in ended:
        watcher.ended(run, outcome)
    for run, worker in begun:
        watcher.started(run, worker.name)
    watcher.tick()


def _worker_for(
    run: PlannedRun, workers: Workers, idle: list[tuple[tuple[str, str], Worker]]
) -> Worker:
    for i, (environment, _) in enumerate(idle):
        if environment == run.environment:
            return idle.pop(i)[1]
    # Runs are sorted by environment, so idle workers of an environment are not needed again.
    while idle:
        idle.pop()[1].close()
    return workers.start(run.environment)


def _close_all(workers: Sequence[Worker]) -> None:
    # In parallel, because each may take seconds.
    with ThreadPoolExecutor(max(1, len(workers))) as pool:
        list(pool.map(lambda worker: worker.close(), workers))
