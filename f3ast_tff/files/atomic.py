"""Atomic writes: a file has its old or its new content, never a part of the new."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any


@contextmanager
def atomic_write(path: Path, mode: str = "w", **kwargs: Any) -> Iterator[IO[Any]]:
    """Opens a file that replaces `path` only after it is written and on disk.

    The new content stands beside it under a name that nobody can guess, in a file that this call
    made: a link there is not followed. A file that is replaced keeps its permissions.

    Args:
        path: The file to replace or make; its folder must exist.
        mode: `"w"` or `"wb"`.
        **kwargs: Arguments of `open`.

    Yields:
        The open file; on an exception `path` stays as it was.

    Raises:
        OSError: If it cannot be written, or is a device, which must not be replaced by a file.
    """
    if _is_device(path):
        raise OSError(errno.EPERM, "it is a device", str(path))
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        with naming(path):
            with open(temporary, mode.replace("w", "x"), **kwargs) as file:
                with suppress(FileNotFoundError):
                    os.chmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Adds this path to errors that name no file, such as the error of a full disk."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise


@contextmanager
def made_folder(path: Path) -> Iterator[None]:
    """Makes a folder and its parents; after a failure removes new folders that are empty.

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
        # The path is missing, or writing to it will raise the error.
        return False
    return stat.S_ISCHR(mode) or stat.S_ISBLK(mode)


def remove_temporaries(folder: Path) -> None:
    """Removes leftovers of killed `atomic_write` calls in a folder, which must be locked."""
    for path in folder.glob(".*.tmp"):
        path.unlink(missing_ok=True)
