"""Memory that a process holds and returns."""

from __future__ import annotations

import os
import subprocess
import sys

import psutil
import pytest

from f3ast_tff.files.process_memory import peak_memory_mib, return_free_memory


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
