"""Atomic writes: a file has its old or its new content, never a part of the new."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

_UNFINISHED = re.compile(r"/\.[^/]+\.[0-9a-f]{16}\.tmp$")
_STALE_S = 3600.0
_MOST_OPEN = 500


@contextmanager
def atomic_write(path: Path, mode: str = "w", **kwargs: Any) -> Iterator[IO[Any]]:
    """Opens a file that replaces `path` only after it is written and on disk.

    The new content stands beside it under a name that nobody can guess, in a file that this call
    made: a link there is not followed. A file that is replaced keeps its permissions. What a
    killed process left of this file an hour ago is removed.

    Args:
        path: The file to replace or make; its folder must exist.
        mode: `"w"` or `"wb"`.
        **kwargs: Arguments of `open`.

    Yields:
        The open file; on an exception `path` stays as it was.

    Raises:
        OSError: If it cannot be written, or is a device, which must not be replaced by a file.
    """
    with _unfinished(path, mode, **kwargs) as (file, temporary):
        yield file
        _to_disk(file)
        # Open until then, so that `remove_unfinished` finds it.
        os.replace(temporary, path)


def write_all(folder: Path, files: Mapping[str, bytes]) -> None:
    """Replaces files of a folder, by name, once all are on disk: all or, on an error, none.

    Of more than 500 files, which are too many to be open at once, a part may be replaced.

    Raises:
        OSError: If a file cannot be written.
    """
    names = list(files)
    for start in range(0, len(names), _MOST_OPEN):
        with ExitStack() as stack:
            written = []
            for name in names[start : start + _MOST_OPEN]:
                file, temporary = stack.enter_context(_unfinished(folder / name, "wb"))
                with naming(folder / name):
                    file.write(files[name])
                    _to_disk(file)
                written.append((temporary, folder / name))
            for temporary, path in written:
                os.replace(temporary, path)


def remove_unfinished() -> None:
    """Removes the unfinished files of this process, which is about to end at once (Linux)."""
    with suppress(OSError):
        for number in os.listdir("/proc/self/fd"):
            with suppress(OSError):
                path = os.readlink(f"/proc/self/fd/{number}")
                if _UNFINISHED.search(path):
                    os.unlink(path)


@contextmanager
def _unfinished(path: Path, mode: str, **kwargs: Any) -> Iterator[tuple[IO[Any], Path]]:
    """Opens the file of the new content, and removes it at the end if it is still there."""
    if _is_device(path):
        raise OSError(errno.EPERM, "it is a device", str(path))
    _remove_stale(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        with naming(path), open(temporary, mode.replace("w", "x"), **kwargs) as file:
            with suppress(FileNotFoundError):
                os.chmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))
            yield file, temporary
    finally:
        temporary.unlink(missing_ok=True)


def _to_disk(file: IO[Any]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _remove_stale(path: Path) -> None:
    """Removes old unfinished content of a file; whoever wrote it has been killed."""
    with suppress(OSError), os.scandir(path.parent) as found:
        for each in found:
            ours = each.name.startswith(f".{path.name}.") and _UNFINISHED.search(f"/{each.name}")
            if ours and time.time() - each.stat(follow_symlinks=False).st_mtime > _STALE_S:
                os.unlink(each.path)


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
