"""Locks between processes: each ends with the process that holds it, in every case."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from filelock import FileLock


def held(path: Path, patience_s: float = 0.0) -> FileLock:
    """Takes a lock; `release` gives it back.

    Args:
        path: File of the lock, made if missing; its folder must exist.
        patience_s: Seconds to wait for the holder.

    Raises:
        OSError: If it cannot be written, or is a link, through which a file elsewhere would be cut.
        filelock.Timeout: If it is still held after the wait.
    """
    if path.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    lock = FileLock(path, timeout=patience_s, thread_local=False)
    lock.acquire()
    return lock
