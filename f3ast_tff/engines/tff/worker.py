"""TFF's worker process, started here so that it never outlives this process.

TFF's launcher leaves the worker running when Python exits, and the worker holds stdout open. This
launcher gives the worker a log file for its output, and the worker ends with this process in every
case.

The worker listens on every network interface without authentication and has no flag to change
that: anyone who reaches its port can execute any TensorFlow graph, which can read and write files.
"""

from __future__ import annotations

import atexit
import importlib.util
import logging
import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import grpc
import tensorflow_federated as tff

from f3ast_tff.core.errors import EngineError
from f3ast_tff.engines.tff import die_with_parent
from f3ast_tff.engines.tff.runtime import TffRuntime
from f3ast_tff.files.data_files import check_appendable
from f3ast_tff.files.process_memory import peak_memory_mib

_LOG = logging.getLogger(__name__)

_MAX_MESSAGE_BYTES = 2_000_000_000
_CHANNEL_OPTIONS = [
    ("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", _MAX_MESSAGE_BYTES),
]
_START_LIMIT_S = 60.0
_ATTEMPTS = 3
# With glibc's defaults the worker's memory would grow by fragmentation, round after round.
_ALLOCATOR = {
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_MMAP_THRESHOLD_": "65536",
    "MALLOC_TRIM_THRESHOLD_": "1000000",
}


class TffWorker:
    """A running `worker_binary` of TensorFlow Federated, serving on all network interfaces.

    The worker dies with this process, killed or not; `close` ends it earlier.

    Attributes:
        port: TCP port of the worker.
        log: File with the worker's output.
        pid: Process id of the worker.
    """

    def __init__(self, log: Path, max_concurrent_calls: int = -1) -> None:
        """Starts the worker, and warns of its open port; does not import TensorFlow.

        Its output is appended to the log. At most `max_concurrent_calls` clients train at once, -1
        for no limit.

        Raises:
            EngineError: If there is no worker to start.
            OSError: If the log cannot be written.
        """
        if threading.current_thread() is not threading.main_thread():
            # The kernel's "parent" is the starting thread; only the main thread lives long enough.
            raise EngineError("TFF's worker must be started from the main thread")
        self.log = log
        self.port = _free_port()
        command = [
            sys.executable,
            "-S",
            "-E",
            die_with_parent.__file__,
            str(os.getpid()),
            str(worker_binary()),
            f"--port={self.port}",
            f"--max_concurrent_computation_calls={max_concurrent_calls}",
        ]
        if log != Path(os.devnull):
            check_appendable(log)
        with open(log, "ab") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**_ALLOCATOR, **os.environ},
            )
        self.pid = self._process.pid
        _LOG.warning(
            "TFF's worker executes whatever is sent to its port %d, on every network interface "
            "and without a password, until this run ends: only for networks that you trust "
            "(tff_runtime tf opens no port)",
            self.port,
        )
        atexit.register(self.close)

    def check_alive(self) -> None:
        """Raises `EngineError`, naming the worker and its log, if the worker has ended."""
        status: int | None = self._process.poll()
        if status is not None:
            raise EngineError(
                f"TFF's worker on localhost:{self.port} ended (status {status}), log {self.log}"
            )

    def close(self) -> None:
        """Ends the worker and waits for its end; a second call does nothing."""
        atexit.unregister(self.close)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def worker_binary() -> Path:
    """Returns the path of TFF's worker without importing TFF.

    Raises:
        EngineError: If TensorFlow Federated is not installed, or lacks its worker.
    """
    spec = importlib.util.find_spec("tensorflow_federated")
    if spec is None or spec.origin is None:
        raise EngineError("TensorFlow Federated is not installed: pip install 'f3ast-tff[tff]'")
    binary = Path(spec.origin).parent / "data" / "worker_binary"
    if not binary.is_file():
        raise EngineError(f"TensorFlow Federated came without its worker: no {binary}")
    return binary


def _free_port() -> int:
    """Returns a port that is free now, outside the range of outgoing connections (Linux)."""
    ports = random.SystemRandom()
    while True:
        port = ports.randrange(15_000, 32_000)
        with socket.socket() as probe:
            try:
                probe.bind(("localhost", port))
            except OSError:
                continue
            return port


def start_worker(
    log: Path, clients_at_once: int = -1
) -> tuple[TffWorker, tff.framework.SyncExecutionContext]:
    """Starts a worker and connects to it; retries if it ends at once (its port was taken).

    Raises:
        EngineError: If three workers in a row fail to start.
    """
    for attempt in range(1, _ATTEMPTS + 1):
        worker = TffWorker(log, clients_at_once)
        try:
            return worker, execution_context(worker)
        except EngineError as error:
            worker.close()
            if attempt == _ATTEMPTS:
                raise
            _LOG.warning("%s; starting another", error)
        except BaseException:
            worker.close()
            raise
    raise AssertionError("unreachable")


def execution_context(worker: TffWorker) -> tff.framework.SyncExecutionContext:
    """Returns a context that executes computations on `worker`.

    Like `tff.backends.native.create_sync_local_cpp_execution_context`, for a running worker. A dead
    worker is an `EngineError`; TFF would start a new worker.

    Raises:
        EngineError: If the worker ends or does not answer within a minute.
    """
    channel = grpc.insecure_channel(f"localhost:{worker.port}", _CHANNEL_OPTIONS)
    stub = tff.framework.RemoteExecutorGrpcStub(channel)
    deadline = time.monotonic() + _START_LIMIT_S
    while not stub.is_ready:
        worker.check_alive()
        if time.monotonic() > deadline:
            raise EngineError(f"TFF's worker on localhost:{worker.port} does not answer")
        time.sleep(0.02)

    def executor(cardinalities: Any) -> tff.framework.RemoteExecutor:
        worker.check_alive()
        cardinalities.setdefault(tff.CLIENTS, 0)
        remote = tff.framework.RemoteExecutor(stub)
        remote.set_cardinalities(cardinalities)
        return remote

    return tff.framework.SyncExecutionContext(
        executor_fn=tff.framework.ResourceManagingExecutorFactory(executor),
        compiler_fn=tff.backends.native.desugar_and_transform_to_native,
        transform_args=tff.tensorflow.transform_args,
        transform_result=tff.tensorflow.transform_result,
    )


class WorkerRuntime(TffRuntime):
    """A `TffRuntime` on a `TffWorker`, which trains on the CPU only, even if there is a GPU.

    The worker also executes any other TFF computation: see `run`.
    """

    def __init__(
        self,
        process: tff.learning.templates.LearningProcess,
        log: Path,
        clients_at_once: int = -1,
        timeout_s: float | None = None,
    ) -> None:
        """Starts the worker.

        After `timeout_s` seconds a computation counts as hung, and its worker is ended.

        Raises:
            EngineError: If no worker starts.
        """
        self._process = process
        self._timeout_s = timeout_s
        self._worker, self._context = start_worker(log, clients_at_once)

    @property
    def pid(self) -> int:
        """The worker's process id."""
        return self._worker.pid

    def initialize(self) -> Any:
        return self.run(self._process.initialize)

    def next(self, state: Any, client_data: Sequence[Any]) -> Any:
        """Executes a round in the worker.

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
            # Otherwise TFF would start another worker, which outlives this process.
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
        """The worker's memory, apart from this process's memory."""
        return {"tff_runtime": "worker", "worker_peak_memory_mib": peak_memory_mib(self.pid)}

    def close(self) -> None:
        """Ends the worker."""
        self._worker.close()
