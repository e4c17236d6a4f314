"""TFF's execution context over a worker of ours."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

import grpc
import tensorflow_federated as tff

from f3ast_tff.engines.tff.worker import TffWorker
from f3ast_tff.errors import EngineError

_MAX_MESSAGE_BYTES = 2_000_000_000
_CHANNEL_OPTIONS = [
    ("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", _MAX_MESSAGE_BYTES),
]
_START_LIMIT_S = 60.0
_ATTEMPTS = 3


def start_worker(
    log: Path, clients_at_once: int = -1
) -> tuple[TffWorker, tff.framework.SyncExecutionContext]:
    """Starts a worker and connects to it; another one if it ends at once (its port was taken).

    Args:
        log: File for the worker's output.
        clients_at_once: See `TffWorker`.

    Raises:
        EngineError: If three workers in a row do not come up.
    """
    for attempt in range(1, _ATTEMPTS + 1):
        worker = TffWorker(log, clients_at_once)
        try:
            return worker, execution_context(worker)
        except EngineError as error:
            worker.close()
            if attempt == _ATTEMPTS:
                raise
            logging.warning("%s; starting another", error)
        except BaseException:
            worker.close()
            raise
    raise AssertionError("unreachable")


def execution_context(worker: TffWorker) -> tff.framework.SyncExecutionContext:
    """Returns a context that executes computations on `worker`.

    As `tff.backends.native.create_sync_local_cpp_execution_context`, but for a worker already
    started. A dead worker is an `EngineError`, where TFF's would be started anew.

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
