"""Signals as requests, and the memory of a process: each in processes of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from f3ast_tff.files.process_memory import peak_memory_mib, return_free_memory

ROOT = Path(__file__).parents[3]
# The program waits, and stops 0.2 s after a request with the process's exit code. `busy` is a
# library that does not return to the interpreter.
PROGRAM = """
import signal, sys, time
from f3ast_tff.files.signals import Signals
signals = Signals()
signals.install()
busy = "busy" in sys.argv
if "outside" in sys.argv:
    print("ready", flush=True)
    time.sleep(30)
with signals.hold():
    print("ready", flush=True)
    while not signals.requested() or busy:
        time.sleep(0.01)
    time.sleep(0.2)
sys.exit(signals.exit_code)
"""


def start(*arguments: str) -> subprocess.Popen[str]:
    program = [sys.executable, "-c", PROGRAM, *arguments]
    process = subprocess.Popen(
        program, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_is_a_request_also_if_passed_on_twice(signum: signal.Signals) -> None:
    process = start()
    process.send_signal(signum)
    process.send_signal(signum)
    _, err = process.communicate(timeout=10)
    assert (process.returncode, err) == (128 + signum, "")


@pytest.mark.long
def test_slow_rounds_are_announced_and_a_second_signal_ends_at_once() -> None:
    process = start("busy")
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    assert process.stderr.readline().startswith("stopping after this round")
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=10)
    assert process.returncode == 143 and err.startswith("ended at once: ")


def test_outside_of_a_run_a_signal_ends_at_once() -> None:
    process = start("outside")
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=10)
    assert (process.returncode, out, err) == (143, "", "interrupted\n")


def test_ignored_signals_stay_ignored() -> None:
    """`nohup` leaves signals ignored."""
    ignoring = "import signal\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    program = [sys.executable, "-c", ignoring + PROGRAM]
    process = subprocess.Popen(program, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGHUP)
    time.sleep(0.1)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=10) == 143
    process.stdout.close()


def test_peak_of_a_process_is_at_least_what_it_holds() -> None:
    held = psutil.Process().memory_info().rss / 2**20
    assert peak_memory_mib() >= held - 1
    if sys.platform == "linux":
        assert peak_memory_mib(os.getpid()) == pytest.approx(peak_memory_mib(), rel=0.05)


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a process starts from nothing")
def test_peak_is_not_that_of_the_process_that_started_it() -> None:
    large = bytearray(os.urandom(1)) * 300_000_000
    code = "from f3ast_tff.files.process_memory import peak_memory_mib; print(peak_memory_mib())"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert float(found.stdout) < len(large) / 2**20


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="only glibc keeps and gives back")
def test_what_is_freed_goes_back() -> None:
    """Freed pieces lie below a last piece that stays, so malloc alone cannot return them."""
    pieces = [bytearray(60_000) for _ in range(2000)]
    last = pieces.pop()
    before = psutil.Process().memory_info().rss
    del pieces
    return_free_memory()
    assert before - psutil.Process().memory_info().rss > 50e6
    assert len(last) == 60_000


_ARENAS = """
import ctypes, sys, threading
from f3ast_tff.files.process_memory import share_arenas
if sys.argv[1] == "shared":
    share_arenas(2)
together = threading.Barrier(6)
def work():
    together.wait()
    pieces = [bytearray(1000) for _ in range(1000)]
    together.wait()
threads = [threading.Thread(target=work) for _ in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
ctypes.CDLL(None).malloc_stats()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc has arenas")
@pytest.mark.parametrize(("how", "fewest", "most"), [("shared", 1, 2), ("default", 3, 99)])
def test_threads_share_arenas(how: str, fewest: int, most: int) -> None:
    found = subprocess.run([sys.executable, "-c", _ARENAS, how], capture_output=True, check=True)
    assert fewest <= found.stderr.decode().count("Arena ") <= most
