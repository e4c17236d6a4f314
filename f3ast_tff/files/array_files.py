"""Reads foreign `.npy` and `.npz` files: no pickles, and no more bytes than a stated limit.

Writes `.npz` files too.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from f3ast_tff.files.data_files import open_regular

# Limit above any run's record of its clients.
_MAX_ARRAYS_BYTES = 2**32


def open_npy(path: Path) -> np.memmap:
    """Maps a `.npy` file into memory, read-only.

    Raises:
        OSError: If it cannot be read.
        ValueError: If it is damaged, cut short, holds objects or is no regular file.
    """
    with open_regular(path):
        pass
    try:
        return np.lib.format.open_memmap(path, mode="r")
    except (OSError, ValueError):
        raise
    except Exception as error:  # NumPy and zipfile raise errors of many types.
        raise ValueError(f"it is damaged ({error})") from error


def load_npz(path: Path, most: int | None = None) -> dict[str, np.ndarray]:
    """Returns the arrays of `np.savez` or `np.savez_compressed`: `most` bytes at most, or 4 GiB.

    Raises:
        OSError: If it cannot be read.
        ValueError: If it is damaged, too large, or holds anything except plain arrays.
    """
    with open_regular(path) as file:
        return _read(file, _MAX_ARRAYS_BYTES if most is None else most)


def read_npz(file: IO[bytes]) -> dict[str, np.ndarray]:
    """Returns the arrays of a seekable, uncompressed archive; their bytes must fit in its size.

    Raises:
        OSError: If it cannot be read.
        ValueError: See `load_npz`.
    """
    return _read(file, file.seek(0, 2))


def write_npz(file: IO[bytes], arrays: Mapping[str, Any], *, compressed: bool = False) -> None:
    """Writes arrays as `np.savez` or `np.savez_compressed` does, and closes the archive on errors.

    NumPy leaves closing to garbage collection, which prints a traceback if the disk is full.

    Raises:
        OSError: If it cannot be written.
        ValueError: If an array holds objects.
    """
    method = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


def _read(file: IO[bytes], most: int) -> dict[str, np.ndarray]:
    try:
        with zipfile.ZipFile(file) as archive:
            declared = sum(member.file_size for member in archive.infolist())
        if declared > most:
            raise ValueError(f"its arrays have {declared} bytes, more than {most}")
        file.seek(0)
        with np.load(file, allow_pickle=False) as arrays:
            found = {name: arrays[name] for name in arrays.files}
    except (OSError, ValueError):
        raise
    except Exception as error:  # NumPy and zipfile raise errors of many types.
        raise ValueError(f"it is damaged ({error})") from error
    for name, array in found.items():
        if not isinstance(array, np.ndarray):
            raise ValueError(f"its member {name[:80]!r} is not a plain array")
    return found
