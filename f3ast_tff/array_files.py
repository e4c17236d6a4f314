"""Reads `.npy` and `.npz` files of plain numbers or texts; a header is checked, never evaluated."""

from __future__ import annotations

import math
import os
import re
import struct
import zipfile
import zlib
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from f3ast_tff.data_files import open_regular

_MAGIC = b"\x93NUMPY"
_LENGTHS = {1: "<H", 2: "<I", 3: "<I"}
_MOST_HEADER_BYTES = 10_000
# Of an archive that may be compressed: more than any run's record of its clients.
_MOST_ARRAYS_BYTES = 2**32
_CHUNK_BYTES = 2**20
# As NumPy writes it. Other types (objects, records, raw bytes) are not for data files.
_HEADER = re.compile(
    r"\{'descr': ?'([<>|=]?[biufcUS][1-9][0-9]{0,8})', ?'fortran_order': ?(True|False), ?"
    r"'shape': ?\((|[0-9]{1,18}L?(?:, ?[0-9]{1,18}L?)*,?)\),? ?\} *\n?"
)
# What NumPy and zipfile raise of a damaged archive.
_ARCHIVE_ERRORS = (
    *(KeyError, EOFError, struct.error, UnicodeError, NotImplementedError, RuntimeError),
    *(zipfile.BadZipFile, zlib.error, MemoryError),
)


class _Form(NamedTuple):
    dtype: np.dtype
    shape: tuple[int, ...]
    order: str
    header_bytes: int

    @property
    def nbytes(self) -> int:
        return self.dtype.itemsize * math.prod(self.shape)


def open_npy(path: Path) -> np.memmap:
    """Maps a `.npy` file into memory, read-only.

    Args:
        path: The file.

    Returns:
        An array of booleans, numbers or texts.

    Raises:
        OSError: If it cannot be read.
        ValueError: If it is damaged, of another dtype, or of another size than its header says.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        form = _read_form(file, size)
        if form.header_bytes + form.nbytes != size:
            raise ValueError(f"it has {size} bytes, its header says {form.dtype} {form.shape}")
        return np.memmap(
            file,
            form.dtype,
            "r",
            form.header_bytes,
            form.shape,
            form.order,  # type: ignore
        )


def load_npz(path: Path) -> dict[str, np.ndarray]:
    """Returns the arrays of a file that `np.savez` or `np.savez_compressed` wrote.

    Args:
        path: The file; its arrays hold at most 4 GiB together.

    Raises:
        OSError: If it cannot be read.
        ValueError: If it is damaged, or holds something else than such arrays.
    """
    with open_regular(path) as file:
        return _read_archive(file, _MOST_ARRAYS_BYTES, (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))


def read_npz(file: IO[bytes]) -> dict[str, np.ndarray]:
    """Returns the arrays of an archive that `np.savez` wrote.

    Args:
        file: The archive, seekable. What it holds together is never larger than itself.

    Raises:
        OSError: If it cannot be read.
        ValueError: If it is damaged, compressed, or holds something else than such arrays.
    """
    return _read_archive(file, file.seek(0, 2), (zipfile.ZIP_STORED,))


def _read_archive(file: IO[bytes], most: int, methods: tuple[int, ...]) -> dict[str, np.ndarray]:
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            names = [member.filename for member in members]
            if len(set(names)) < len(names) or sum(m.file_size for m in members) > most:
                raise ValueError("its directory is damaged")
            for member in members:
                if not member.filename.endswith(".npy") or member.compress_type not in methods:
                    raise ValueError(f"its member {member.filename[:80]!r} is not a plain array")
            return {member.filename[: -len(".npy")]: _member(archive, member) for member in members}
    except _ARCHIVE_ERRORS as error:
        raise ValueError(f"it is damaged ({error})") from error


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    with archive.open(member) as file:
        form = _read_form(file, member.file_size)
        if form.header_bytes + form.nbytes != member.file_size:
            raise ValueError(f"its member {member.filename[:80]!r} has another size than it says")
        # Takes memory as it is filled: by what the file holds, not by what it claims.
        content = np.empty(form.nbytes, np.uint8)
        filled = 0
        while chunk := file.read(_CHUNK_BYTES):
            content[filled : filled + len(chunk)] = np.frombuffer(chunk, np.uint8)
            filled += len(chunk)
        if filled != form.nbytes:
            raise ValueError(f"its member {member.filename[:80]!r} is cut short")
    if not form.nbytes:
        return np.zeros(form.shape, form.dtype)
    return content.view(form.dtype).reshape(form.shape, order="F" if form.order == "F" else "C")


def _read_form(file: IO[bytes], size: int) -> _Form:
    start = file.read(len(_MAGIC) + 2)
    if start[: len(_MAGIC)] != _MAGIC or len(start) < len(_MAGIC) + 2:
        raise ValueError("it does not start as a .npy file")
    length_form = _LENGTHS.get(start[-2])
    if length_form is None:
        raise ValueError(f"it is a .npy file of version {start[-2]}")
    raw = file.read(struct.calcsize(length_form))
    if len(raw) < struct.calcsize(length_form):
        raise ValueError("its header is cut short")
    (length,) = struct.unpack(length_form, raw)
    if length > min(_MOST_HEADER_BYTES, size):
        raise ValueError(f"its header claims {length} bytes")
    header = file.read(length).decode("latin1")
    match = _HEADER.fullmatch(header)
    if not match:
        raise ValueError(
            f"its header is not that of booleans, numbers or texts: {header[:120].strip()!r}"
        )
    try:
        dtype = np.dtype(match[1])
    except TypeError as error:
        raise ValueError(f"its dtype is {match[1]}") from error
    shape = tuple(int(n.strip(" L")) for n in match[3].split(",") if n.strip())
    if len(shape) > 32:
        raise ValueError(f"it has {len(shape)} axes")
    order = "F" if match[2] == "True" else "C"
    return _Form(dtype, shape, order, len(start) + len(raw) + length)
