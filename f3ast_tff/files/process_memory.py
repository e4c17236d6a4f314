"""Memory of a process."""

from __future__ import annotations

import ctypes
import gc
import resource
import sys
from pathlib import Path

import psutil

# From glibc's malloc.h.
_M_ARENA_MAX = -8


def peak_memory_mib(pid: int | None = None) -> float:
    """Returns the peak memory of a process, in MiB.

    Args:
        pid: A running process (Linux only); by default this one.

    Raises:
        OSError: If there is no such process.
    """
    if pid is None and not sys.platform.startswith("linux"):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)
    # Not `getrusage`, which on Linux counts the size of the parent process too.
    lines = Path(f"/proc/{pid or 'self'}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def return_free_memory(collect: bool = True) -> None:
    """Returns freed memory from the allocator to the system (glibc).

    With `collect` garbage is collected first, which takes tenths of a second if much is imported.
    """
    if collect:
        gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def share_arenas(most: int = 2) -> None:
    """Makes all new threads share a few of the allocator's arenas (glibc).

    Each arena keeps some freed memory; by default there are eight arenas per core.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, most)


def available_memory_bytes() -> int:
    """Returns the bytes of memory that this process could still take without swapping.

    This is the memory available in the system or, if less, on Linux the rest of the control
    group's limit.
    """
    available = psutil.virtual_memory().available
    group = Path("/sys/fs/cgroup")
    limit, used = group / "memory.max", group / "memory.current"
    if limit.exists() and used.exists() and limit.read_text().strip() != "max":
        available = min(available, int(limit.read_text()) - int(used.read_text()))
    return max(available, 0)
