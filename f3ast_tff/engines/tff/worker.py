"""TFF's worker process, started by us so that it never outlives us.

TFF's own launcher leaves the worker running when Python exits, holding stdout open. This one
gives the worker a log file for its output and ties its life to ours, on every way out.

The worker listens on every network interface, asks nobody who they are and has no flag to change
that: whoever reaches its port has it execute any TensorFlow graph, reading and writing files.
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
from pathlib import Path

from f3ast_tff.data_files import check_appendable
from f3ast_tff.engines import die_with_parent
from f3ast_tff.errors import EngineError

# glibc's defaults let the worker's memory creep up by fragmentation, round after round.
_ALLOCATOR = {
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_MMAP_THRESHOLD_": "65536",
    "MALLOC_TRIM_THRESHOLD_": "1000000",
}


class TffWorker:
    """A running `worker_binary` of TensorFlow Federated, serving on all network interfaces.

    The worker dies with this process, killed or not; `close` ends it earlier.

    Attributes:
        port: TCP port that it serves on.
        log: File that holds its output.
        pid: Its process id.
    """

    def __init__(self, log: Path, max_concurrent_calls: int = -1) -> None:
        """Starts the worker, and warns of its open port; does not import TensorFlow.

        Args:
            log: File for its output, appended to.
            max_concurrent_calls: Most clients that train at once; -1 for no limit.

        Raises:
            EngineError: If there is no worker to start.
            OSError: If the log cannot be written.
        """
        if threading.current_thread() is not threading.main_thread():
            # The kernel's "parent" is the starting thread; only the main one lives as long as we.
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
        logging.warning(
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
        """Ends the worker and waits for its end; again does nothing."""
        atexit.unregister(self.close)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def worker_binary() -> Path:
    """Returns the path of TFF's worker without importing TFF.

    Raises:
        EngineError: If TensorFlow Federated is not installed, or came without its worker.
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
