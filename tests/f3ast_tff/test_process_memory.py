"""What a process holds, and gives back."""

from __future__ import annotations

import os
import sys

import psutil
import pytest

from f3ast_tff.process_memory import peak_memory_mib, return_free_memory


def test_peak_of_a_process_is_at_least_what_it_holds() -> None:
    held = psutil.Process().memory_info().rss / 2**20
    assert peak_memory_mib() >= held - 1
    if sys.platform == "linux":
        assert peak_memory_mib(os.getpid()) == pytest.approx(peak_memory_mib(), rel=0.05)


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc keeps and gives back")
def test_what_is_freed_goes_back() -> None:
    """Small pieces below a last one that stays: malloc cannot give them back by itself."""
    pieces = [bytearray(60_000) for _ in range(2000)]
    last = pieces.pop()
    before = psutil.Process().memory_info().rss
    del pieces
    return_free_memory()
    assert before - psutil.Process().memory_info().rss > 50e6
    assert len(last) == 60_000
