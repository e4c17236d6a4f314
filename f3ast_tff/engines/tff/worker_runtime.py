"""The reference runtime: rounds are executed by TFF's own worker, a child process."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tensorflow_federated as tff

from f3ast_tff.engines.tff.context import start_worker
from f3ast_tff.engines.tff.runtime import TffRuntime
from f3ast_tff.errors import EngineError
from f3ast_tff.process_memory import peak_memory_mib


class WorkerRuntime(TffRuntime):
    """A `TffRuntime` on a worker of ours. It trains on the CPU only, whatever TensorFlow sees.

    The worker takes any TFF computation, not only a learning process: see `run`.
    """

    def __init__(
        self,
        process: tff.learning.templates.LearningProcess,
        log: Path,
        clients_at_once: int = -1,
        timeout_s: float | None = None,
    ) -> None:
        """Starts the worker.

        Args:
            process: Whose rounds are executed.
            log: File for the worker's output.
            clients_at_once: Most clients that train at the same time; -1 for no limit.
            timeout_s: Seconds after which a computation counts as hung and its worker is ended;
                `None` for no limit.

        Raises:
            EngineError: If no worker comes up.
        """
        self._process = process
        self._timeout_s = timeout_s
        self._worker, self._context = start_worker(log, clients_at_once)

    @property
    def pid(self) -> int:
        """The worker's process id."""
        return self._worker.pid

    def initialize(self) -> Any:
        """See `TffRuntime.initialize`."""
        return self.run(self._process.initialize)

    def next(self, state: Any, client_data: Sequence[Any]) -> Any:
        """See `TffRuntime.next`.

        Raises:
            EngineError: If the worker has died.
        """
        return self.run(self._process.next, state, list(client_data))

    def run(self, computation: Any, *arguments: Any) -> Any:
        """Executes any TFF computation.

        Raises:
            EngineError: If the worker has died, or hangs.
        """
        hung = threading.Event()

        def end() -> None:
            hung.set()
            self._worker.close()

        watch = threading.Timer(self._timeout_s or 0, end)
        watch.daemon = True
        if self._timeout_s is not None:
            watch.start()
        try:
            # Without this, TFF would start a worker of its own, which outlives this process.
            with tff.framework.get_context_stack().install(self._context):
                return computation(*arguments)
        except EngineError as error:
            if not hung.is_set():
                raise
            where = f"TFF's worker on localhost:{self._worker.port}"
            raise EngineError(f"{where} has not answered within {self._timeout_s:g} s") from error
        finally:
            watch.cancel()

    def statistics(self) -> dict[str, Any]:
        """See `TffRuntime.statistics`: the worker's memory, which this process's leaves out."""
        return {"tff_runtime": "worker", "worker_peak_memory_mib": peak_memory_mib(self.pid)}

    def close(self) -> None:
        """Ends the worker."""
        self._worker.close()
