"""Files that are either the old one or the new one, never half of the new one."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any


@contextmanager
def atomic_write(path: Path, mode: str = "w", **kwargs: Any) -> Iterator[IO[Any]]:
    """Opens a file that takes the place of `path` only once it is written and on disk.

    Args:
        path: The file to replace or make; its folder must exist.
        mode: `"w"` or `"wb"`.
        **kwargs: As of `open`.

    Yields:
        The open file; on an exception `path` stays as it was.

    Raises:
        OSError: If it cannot be written, or is a device, which a file would take the place of.
    """
    if _is_device(path):
        raise OSError(errno.EPERM, "it is a device", str(path))
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with naming(path):
            with open(temporary, mode, **kwargs) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Has errors that name no file, such as that of a full disk, name this one."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise


@contextmanager
def made_folder(path: Path) -> Iterator[None]:
    """Makes a folder, and those above it; after a failure the new ones that are empty are gone.

    Raises:
        OSError: If it cannot be made.
    """
    new = [each for each in (path, *path.parents) if not each.exists()]
    path.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        with suppress(OSError):
            for folder in new:
                folder.rmdir()
        raise


def _is_device(path: Path) -> bool:
    try:
        mode = path.lstat().st_mode
    except OSError:
        # Not there, or to be told of when it is written.
        return False
    return stat.S_ISCHR(mode) or stat.S_ISBLK(mode)


def remove_temporaries(folder: Path) -> None:
    """Removes what killed processes left of `atomic_write` in a folder, which must be locked."""
    for path in folder.glob(".*.tmp"):
        path.unlink(missing_ok=True)
