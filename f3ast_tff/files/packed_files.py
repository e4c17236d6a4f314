"""Reads packed files (gzip, bzip2, xz, zip, zstd) of at most a stated number of unpacked bytes."""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import os
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

from f3ast_tff.files.data_files import Limited, open_regular

# Endings of packed files. Python unpacks zstd from 3.14 on.
PACKED = (".gz", ".bz2", ".xz", ".zip", ".zst")


def form_of(path: Path | str) -> str:
    """Returns the ending that says a file's form, in lower case: `.csv` of `log.CSV.gz`."""
    path = Path(path)
    return (path.with_suffix("") if path.suffix.lower() in PACKED else path).suffix.lower()


def read_packed(path: Path | str, most: int) -> bytes:
    """Returns the content of a file, unpacked if its ending is one of `PACKED`.

    Raises:
        OSError: If it cannot be read.
        ValueError: If it holds more than `most` bytes, is damaged, is no regular file, does not fit
            into memory, or this Python does not unpack its form.
    """
    form, zstd = Path(path).suffix.lower(), _zstd()
    if form == ".zst" and zstd is None:
        raise ValueError("Python unpacks .zst from 3.14 on: unpack it first, by unzstd")
    damaged: tuple[type[Exception], ...] = (
        EOFError,
        lzma.LZMAError,
        zipfile.BadZipFile,
        zlib.error,
    )
    damaged += () if zstd is None else (zstd.ZstdError,)
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        try:
            # The limit holds before parsing, which takes many times the size.
            stream = _unpacked(file, form, zstd)
            return io.BufferedReader(Limited(stream, most, packed=size)).read()
        except MemoryError as error:
            raise ValueError("it does not fit into memory") from error
        except damaged as error:
            raise ValueError(f"it is damaged ({error})") from error


def _unpacked(file: io.FileIO, form: str, zstd: Any) -> Any:
    if form == ".gz":
        return gzip.GzipFile(fileobj=file)
    if form == ".bz2":
        return bz2.BZ2File(file)
    if form == ".xz":
        return lzma.LZMAFile(file)
    if form == ".zip":
        return _only_member(zipfile.ZipFile(file))
    return zstd.ZstdFile(file) if form == ".zst" else file


def _zstd() -> Any | None:
    try:
        return importlib.import_module("compression.zstd")
    except ModuleNotFoundError:
        return None


def _only_member(archive: zipfile.ZipFile) -> IO[bytes]:
    names = [name for name in archive.namelist() if not name.startswith("__MACOSX/")]
    if len(names) != 1:
        raise ValueError(f"it has {len(names)} files, must have one")
    return archive.open(names[0])
