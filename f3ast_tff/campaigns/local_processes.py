"""Worker processes of this machine; none outlives the campaign, however that ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import wait
from pathlib import Path
from types import MappingProxyType
from typing import Any

from f3ast_tff.campaigns.gpus import VISIBLE, gpu_variables, uses_gpu, visible_gpus
from f3ast_tff.campaigns.runs import LOST, Outcome, PlannedRun, now
from f3ast_tff.campaigns.scheduler import Worker
from f3ast_tff.data_files import check_appendable
from f3ast_tff.engines import die_with_parent

# The folder that the package is imported from.
_PARENT = str(Path(__file__).resolve().parents[2])
# For the round in progress and its checkpoint.
_UNWIND_S = 30.0
LOG = "workers.log"


class LocalProcesses:
    """Processes of this machine.

    Attributes:
        slots: See `Workers`.
    """

    def __init__(self, slots: int, campaign: Path, provenance: Mapping[str, Any]) -> None:
        """Takes the number of processes, the campaign's folder, and what a run came from."""
        self.slots = slots
        self._campaign = campaign
        self._provenance = provenance
        self._gpus: list[str] | None = None
        self._started: list[LocalProcess] = []

    def start(self, environment: tuple[str, str]) -> LocalProcess:
        """See `Workers.start`; from the main thread, whose death is then the process's."""
        variables = self._variables(environment)
        process = LocalProcess(self._campaign, self._provenance, variables)
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
        """See `Workers.ended`."""
        ours = [worker for worker in busy if isinstance(worker, LocalProcess)]
        by_pipe = {worker.answers.fileno(): worker for worker in ours}
        return [by_pipe[pipe] for pipe in wait(list(by_pipe), seconds) if isinstance(pipe, int)]


class LocalProcess:
    """One process.

    Attributes:
        name: See `Worker`.
        answers: Readable once a run has ended, or the process.
        gpu: The GPU that it was given; empty for none.
    """

    def __init__(
        self,
        campaign: Path,
        provenance: Mapping[str, Any],
        variables: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Starts it; its output goes to `LOG` in the campaign's folder.

        Args:
            campaign: The campaign's folder.
            provenance: What a run came from.
            variables: Added to its environment.
        """
        self.gpu = variables.get(VISIBLE, "")
        self._log = campaign / LOG
        command = [
            *(sys.executable, "-S", "-E", die_with_parent.__file__, str(os.getpid())),
            *(sys.executable, "-m", "f3ast_tff.campaigns.local_worker"),
            *(str(campaign), json.dumps(provenance)),
        ]
        check_appendable(self._log)
        with open(self._log, "ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**_environment(), **variables},
            )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._orders, self.answers = self._process.stdin, self._process.stdout
        self.name = f"process {self._process.pid}"
        self._since = now()

    @property
    def alive(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    def submit(self, run: PlannedRun) -> None:
        """See `Worker.submit`."""
        self._since = now()
        try:
            self._orders.write(json.dumps(run.order) + "\n")
            self._orders.flush()
        except BrokenPipeError:
            # It has died meanwhile, as `outcome` will find.
            return

    def outcome(self) -> Outcome:
        """See `Worker.outcome`."""
        line = self.answers.readline()
        if line.endswith("\n"):
            return Outcome(**json.loads(line))
        return Outcome(LOST, self._cause_of_death(), self._since, now(), 0.0, self.name)

    def _cause_of_death(self) -> str:
        status = self._process.wait()
        if status == -signal.SIGKILL:
            how = "was killed (SIGKILL; was memory short?)"
        elif status < 0:
            how = f"was ended by signal {-status}"
        else:
            how = f"ended with exit code {status}"
        return f"{self.name} {how}, log {self._log}"

    def close(self) -> None:
        """See `Worker.close`."""
        self._process.terminate()
        try:
            self._process.wait(_UNWIND_S)
        except subprocess.TimeoutExpired:
            # Inside a compilation, Python does not see signals.
            self._process.kill()
            self._process.wait()
        with suppress(BrokenPipeError):
            self._orders.close()
        self.answers.close()


def _environment() -> dict[str, str]:
    """The environment in which the package is found wherever the command was given."""
    if _PARENT in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib")):
        return dict(os.environ)
    path = os.pathsep.join(filter(None, [_PARENT, os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path}
