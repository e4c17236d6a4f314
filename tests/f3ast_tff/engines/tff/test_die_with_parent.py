"""The worker dies with its parent, on every way out."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

# Starts a substitute for TFF's worker and prints its pid; stdin says how to end.
PARENT = """
import os, signal, subprocess, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in background shells
from f3ast_tff.engines.tff import die_with_parent
child = subprocess.Popen(
    [sys.executable, "-S", "-E", die_with_parent.__file__, str(os.getpid()), "/bin/sleep", "600"]
)
print(child.pid, flush=True)
how = sys.stdin.readline().strip()
if how == "exception":
    raise RuntimeError("on purpose")
if how == "os._exit":
    os._exit(3)
"""


def gone(pid: int, within_s: float = 10.0) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.02)
    return False


def start_parent() -> tuple[subprocess.Popen, int]:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
    )
    assert parent.stdout is not None
    return parent, int(parent.stdout.readline())


@pytest.mark.long
@pytest.mark.parametrize("how", ["normal", "exception", "os._exit"])
def test_child_is_gone_when_parent_ends_by_itself(how: str) -> None:
    parent, child = start_parent()
    assert not gone(child, within_s=0.3)
    parent.communicate(how + "\n", timeout=20)
    assert gone(child)


@pytest.mark.long
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_child_is_gone_when_parent_is_killed(signum: signal.Signals) -> None:
    parent, child = start_parent()
    parent.send_signal(signum)
    parent.communicate(timeout=20)
    assert gone(child)


def test_refuses_when_the_parent_is_already_gone() -> None:
    from f3ast_tff.engines.tff import die_with_parent

    not_our_pid = str(os.getpid() + 1)
    done = subprocess.run(
        [sys.executable, str(Path(die_with_parent.__file__)), not_our_pid, "/bin/sleep", "600"],
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert done.returncode == 1
    assert "the parent is gone" in done.stderr
