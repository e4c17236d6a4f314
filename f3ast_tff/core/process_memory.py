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
    """Returns the most memory that a process held at once, in MiB.

    Args:
        pid: A running process (Linux only); by default this one.

    Raises:
        OSError: If there is no such process.
    """
    if pid is None and not sys.platform.startswith("linux"):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)
    # Not `getrusage`: to Linux a process has been as large as the one that started it.
    lines = Path(f"/proc/{pid or 'self'}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def return_free_memory(collect: bool = True) -> None:
    """Gives freed memory that the allocator keeps back to the system (glibc).

    To `collect` garbage first takes tenths of a second where much is imported.
    """
    if collect:
        gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def share_arenas(most: int = 2) -> None:
    """Lets all threads that start from now on share a few of the allocator's arenas (glibc).

    Each arena keeps some freed memory; by default there are eight per core.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, most)


def available_memory_bytes() -> int:
    """Returns how much memory this process could still take without swapping.

    The lesser of what the system has available and, on Linux, the rest of the control group's
    limit.
    """
    available = psutil.virtual_memory().available
    group = Path("/sys/fs/cgroup")
    limit, used = group / "memory.max", group / "memory.current"
    if limit.exists() and used.exists() and limit.read_text().strip() != "max":
        available = min(available, int(limit.read_text()) - int(used.read_text()))
    return max(available, 0)
