"""Reads foreign files as data: regular files only, and no more bytes than a stated limit."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import stat
import tomllib
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any

# Texts (CSV, JSON) are parsed in memory, which takes many times their size.
MAX_TEXT_BYTES = 2**28
MAX_TOML_BYTES = 2**20
_CHUNK = 2**20


def open_regular(path: Path | str) -> io.FileIO:
    """Opens a file for reading, unbuffered.

    Raises:
        OSError: If it cannot be opened.
        ValueError: If it is a pipe, a device or the like, where reading could wait for ever.
    """
    file = io.FileIO(path, "rb", opener=_without_waiting)
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise ValueError("it is not a regular file")
    return file


def file_state(path: Path) -> tuple[int, ...]:
    """Returns time and size of a file, which differ after a change; `()` for a missing file."""
    try:
        seen = path.stat()
    except OSError:
        return ()
    return seen.st_mtime_ns, seen.st_size


def check_appendable(path: Path) -> None:
    """Checks that a file, if it exists, can be appended to.

    Raises:
        OSError: If it is a pipe, where opening could wait for ever, a device, a folder or the like.
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EEXIST, "it is not a regular file", str(path))


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def read_bytes(path: Path | str, most: int) -> bytes:
    """Returns the content of a file of at most `most` bytes.

    Raises:
        OSError: If it cannot be read.
        ValueError: If it is larger, which is checked before reading, or no regular file.
    """
    with open_regular(path) as file:
        _check_size(file, most)
        return io.BufferedReader(Limited(file, most)).read()


def _check_size(file: io.FileIO, most: int) -> None:
    size = os.fstat(file.fileno()).st_size
    if size > most:
        raise ValueError(f"it has {size} bytes, more than {most}")


def read_text(path: Path | str, most: int = MAX_TEXT_BYTES) -> str:
    """Returns the content of a UTF-8 file, without a byte order mark.

    Raises:
        OSError: If it cannot be read.
        ValueError: If it is not UTF-8, larger than `most` bytes or no regular file.
    """
    return read_bytes(path, most).decode("utf-8-sig")


def read_json(path: Path | str, most: int = MAX_TEXT_BYTES) -> Any:
    """Returns the value in a JSON file.

    Raises:
        OSError: If it cannot be read.
        ValueError: See `read_text` and `json_in`.
    """
    return json_in(read_text(path, most))


def json_in(text: str, **parse: Any) -> Any:
    """Returns the value in a JSON text.

    Args:
        text: The text.
        **parse: `parse_constant` and `parse_int` of `json.loads`.

    Raises:
        ValueError: If it is not JSON, is nested too deeply, or names a member of an object twice.
    """
    try:
        return json.loads(text, object_pairs_hook=_unique_members, **parse)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except MemoryError:
        raise ValueError("it does not fit into memory") from None


def read_toml(path: Path | str) -> dict[str, Any]:
    """Returns the table in a TOML file.

    Raises:
        OSError: If it cannot be read.
        ValueError: See `read_text`; also if it is not TOML or is nested too deeply.
    """
    text = read_text(path, MAX_TOML_BYTES)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of its members; `ValueError` if one is named twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"it names {first_twice(name for name, _ in pairs)[:80]!r} twice")
    return found


def first_twice(values: Iterable[Hashable]) -> Any:
    """Returns the first value that is there before, `None` if there is none, in linear time."""
    before: set[Hashable] = set()
    for value in values:
        if value in before:
            return value
        before.add(value)
    return None


def hash_of(path: Path, algorithm: str = "sha256", start: int = 0, most: int | None = None) -> str:
    """Returns the hash of a file from byte `start` on, in hexadecimal, reading a MiB at a time.

    Raises:
        OSError: If it cannot be read.
        ValueError: If it has more than `most` bytes, or is no regular file.
    """
    found = hashlib.new(algorithm, usedforsecurity=False)
    chunk = memoryview(bytearray(_CHUNK))
    with open_regular(path) as file:
        if most is not None:
            _check_size(file, most)
        file.seek(start)
        while size := file.readinto(chunk):
            found.update(chunk[:size])
    return found.hexdigest()


class Limited(io.RawIOBase):
    """A stream, for example of a decompressor, that yields at most a limit of bytes.

    It only goes forward; reading beyond the limit raises `ValueError`.
    """

    def __init__(
        self, stream: io.BufferedIOBase | io.RawIOBase, most: int, packed: int | None = None
    ) -> None:
        """Takes a stream, its limit and, for the message, the size of its file."""
        super().__init__()
        self._stream = stream
        self._most = self._left = most
        self._what = "it holds" if packed is None else f"its {packed} bytes hold"

    def readable(self) -> bool:
        """Returns true: it is a stream to read."""
        return True

    def readinto(self, buffer: Any) -> int:
        # One more byte distinguishes the end of the file from the limit.
        """Reads into a buffer; returns the number of bytes."""
        found = self._stream.read(min(len(buffer), self._left + 1)) or b""
        if len(found) > self._left:
            raise ValueError(f"{self._what} more than {self._most} bytes")
        self._left -= len(found)
        buffer[: len(found)] = found
        return len(found)
