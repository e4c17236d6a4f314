"""Files that are either the old one or the new one, never half of the new one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
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
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, mode, **kwargs) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def remove_temporaries(folder: Path) -> None:
    """Removes what killed processes left of `atomic_write`; the folder must be locked.

    Args:
        folder: Searched without the folders in it; need not exist.
    """
    for path in folder.glob(".*.tmp"):
        path.unlink(missing_ok=True)
