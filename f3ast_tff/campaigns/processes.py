"""Worker processes of this machine, and its GPUs; all processes end with the campaign."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from types import MappingProxyType
from typing import Any

from f3ast_tff.campaigns.isolated_run import keep_compiled_programs, run_order
from f3ast_tff.campaigns.pool import Worker, Workers
from f3ast_tff.campaigns.runs import LOST, Outcome, PlannedRun, now
from f3ast_tff.core.errors import Interrupted
from f3ast_tff.files.data_files import check_appendable
from f3ast_tff.files.signals import Signals

LOG = "workers.log"
# Time for the round in progress and its checkpoint.
_UNWIND_S = 30.0
# Signals that a terminal sends to all its processes. Workers ignore them, as the campaign ends its
# workers; the signals are blocked from before a worker starts until it ignores them.
_OF_A_TERMINAL = (signal.SIGINT, signal.SIGHUP)
VISIBLE = "CUDA_VISIBLE_DEVICES"
FRACTION = "XLA_PYTHON_CLIENT_MEM_FRACTION"
# Share of a GPU's memory for all its processes; CUDA needs the rest.
_SHARE = 0.9
_PATIENCE_S = 20.0


class LocalProcesses(Workers):
    """Processes of this machine.

    Attributes:
        slots: See `Workers`.
    """

    def __init__(self, slots: int, campaign: Path, provenance: Mapping[str, Any]) -> None:
        """Takes the number of processes, the campaign's folder and the runs' provenance."""
        self.slots = slots
        self._campaign = campaign
        self._provenance = provenance
        self._gpus: list[str] | None = None
        self._started: list[LocalProcess] = []

    def start(self, environment: tuple[str, str]) -> LocalProcess:
        process = LocalProcess(self._campaign, self._provenance, self._variables(environment))
        self._started = [*(p for p in self._started if p.alive), process]
        return process

    def _variables(self, environment: tuple[str, str]) -> dict[str, str]:
        if not uses_gpu(environment):
            return {}
        if self._gpus is None:
            self._gpus = visible_gpus(os.environ)
        if not self._gpus:
            return {}
        taken = [process.gpu for process in self._started if process.alive]
        return gpu_variables(self._gpus, taken, self.slots, os.environ)

    def ended(self, busy: Sequence[Worker], seconds: float) -> list[Worker]:
        ours = [worker for worker in busy if isinstance(worker, LocalProcess)]
        ready = wait([worker.pipe for worker in ours], seconds)
        return [worker for worker in ours if worker.pipe in ready]


class LocalProcess(Worker):
    """A spawned process.

    `pipe` takes orders and gives outcomes; it becomes readable when a run or the process has ended.
    `gpu` is the GPU given to the process; empty for none.
    """

    def __init__(
        self,
        campaign: Path,
        provenance: Mapping[str, Any],
        variables: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Starts the process with `variables` added to its environment; `LOG` holds its output."""
        self.gpu = variables.get(VISIBLE, "")
        self._log = campaign / LOG
        check_appendable(self._log)
        spawn = multiprocessing.get_context("spawn")
        self.pipe, theirs = spawn.Pipe()
        self._process = spawn.Process(
            target=_serve, args=(theirs, campaign, dict(provenance), dict(variables)), daemon=True
        )
        start_guarded(self._process)
        theirs.close()
        self.name = f"process {self._process.pid}"
        self._since = now()
        self._busy = False

    @property
    def alive(self) -> bool:
        """Whether the process has not ended."""
        return self._process.is_alive()

    def submit(self, run: PlannedRun) -> None:
        self._since, self._busy = now(), True
        try:
            self.pipe.send(run.order)
        except BrokenPipeError:
            # The process has died meanwhile; `outcome` will report it.
            return

    def outcome(self) -> Outcome:
        try:
            outcome: Outcome = self.pipe.recv()
        except (EOFError, ConnectionResetError):
            return Outcome(LOST, self._cause_of_death(), self._since, now(), 0.0, self.name)
        finally:
            self._busy = False
        return outcome

    def _cause_of_death(self) -> str:
        self._process.join()
        status = self._process.exitcode or 0
        if status == -signal.SIGKILL:
            how = "was killed (SIGKILL; was memory short?)"
        elif status < 0:
            how = f"was ended by signal {-status}"
        else:
            how = f"ended with exit code {status}"
        return f"{self.name} {how}, log {self._log}"

    def close(self) -> None:
        if not self._busy:
            # The process then ends normally, and TensorFlow removes its temporary files.
            self.pipe.close()
            self._process.join(_UNWIND_S)
        self._process.terminate()
        self._process.join(_UNWIND_S)
        if self._process.is_alive():
            # During a compilation Python does not handle signals.
            self._process.kill()
            self._process.join()
        self.pipe.close()


def start_guarded(process: SpawnProcess) -> None:
    """Starts a process that calls `guard` first; until then a terminal's signals are blocked."""
    # Started first, because its start unblocks Ctrl-C.
    resource_tracker.ensure_running()
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _OF_A_TERMINAL)
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def guard() -> None:
    """Makes this spawned process ignore a terminal's signals, and end with its parent."""
    for signum in _OF_A_TERMINAL:
        signal.signal(signum, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _OF_A_TERMINAL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _serve(
    pipe: Connection, campaign: Path, provenance: dict[str, Any], variables: dict[str, str]
) -> None:
    """Runs orders in a spawned process until its pipe closes."""
    guard()
    signals = Signals()
    signals.install()
    with open(campaign / LOG, "ab") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    os.environ.update(variables)
    keep_compiled_programs(campaign, os.environ)
    while True:
        try:
            order = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send(run_order(order, provenance, worker=f"process {os.getpid()}", stop=signals))
        except Interrupted:
            sys.exit(signals.exit_code)
        if signals.requested():
            # The run finished in the round in which it was told to stop.
            sys.exit(signals.exit_code)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def visible_gpus(environment: Mapping[str, str]) -> list[str]:
    """Returns the GPUs that this process may use, as `CUDA_VISIBLE_DEVICES` names them."""
    named = environment.get(VISIBLE)
    if named is not None:
        found = []
        for name in map(str.strip, named.split(",")):
            # CUDA hides every device after an invalid one.
            if not name or name.startswith("-"):
                break
            found.append(name)
        return found
    command = ["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_PATIENCE_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return []
    return done.stdout.split()


def uses_gpu(environment: tuple[str, str]) -> bool:
    """Whether runs of a `PlannedRun.environment` train on a GPU if there is one."""
    engine, device = environment
    return device == "gpu" or (device == "auto" and engine == "fused")


def default_processes(environments: Iterable[tuple[str, str]]) -> int:
    """Returns one process for each GPU if runs train there, otherwise one for each core."""
    gpus = visible_gpus(os.environ) if any(map(uses_gpu, environments)) else []
    return len(gpus) or len(os.sched_getaffinity(0))


def gpu_variables(
    gpus: Sequence[str], taken: Sequence[str], slots: int, environment: Mapping[str, str]
) -> dict[str, str]:
    """Returns the environment variables that give a new process a whole GPU, or a share of one.

    Args:
        gpus: All GPUs, at least one.
        taken: GPU of each living process.
        slots: Largest number of processes at a time; each has an equal part of its GPU's memory.
        environment: Environment; a memory fraction that it sets stays.
    """
    on_each = Counter(taken)
    found = {VISIBLE: min(gpus, key=lambda gpu: on_each[gpu])}
    sharing = -(-slots // len(gpus))
    if sharing > 1 and FRACTION not in environment:
        found[FRACTION] = f"{_SHARE / sharing:.3f}"
    return found
