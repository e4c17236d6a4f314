"""TFF's worker process, as we start it."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from f3ast_tff.core.errors import EngineError

pytestmark = pytest.mark.tff


def started(log: Path) -> Any:
    from f3ast_tff.engines.tff.worker import TffWorker

    return TffWorker(log)


def test_serves_until_closed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    worker = started(tmp_path / "worker.log")
    try:
        (record,) = caplog.records
        assert f"port {worker.port}, on every network interface" in record.getMessage()
        deadline = time.monotonic() + 30
        while Path(f"/proc/{worker.pid}/exe").resolve().name != "worker_binary":
            assert time.monotonic() < deadline
            time.sleep(0.02)
        worker.check_alive()
    finally:
        worker.close()
    assert not psutil.pid_exists(worker.pid)
    worker.close()


def test_a_dead_worker_is_named(tmp_path: Path) -> None:
    worker = started(tmp_path / "worker.log")
    psutil.Process(worker.pid).kill()
    psutil.wait_procs([psutil.Process(worker.pid)], timeout=10)
    with pytest.raises(EngineError, match=rf"localhost:{worker.port} ended .*worker\.log"):
        worker.check_alive()


def test_must_be_started_from_the_main_thread(tmp_path: Path) -> None:
    """The kernel ties the worker to the thread that starts it, which must not end early."""
    caught: list[BaseException] = []

    def start() -> None:
        try:
            started(tmp_path / "worker.log")
        except EngineError as error:
            caught.append(error)

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert "main thread" in str(caught[0])
