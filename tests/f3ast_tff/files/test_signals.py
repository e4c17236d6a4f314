"""Signals as requests, each in a separate process."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

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
