"""Reads training times measured on devices: a table with a row per device, in CSV or JSON.

CSV: a line of names, then a line per device; separated by commas, semicolons or tabs. JSON: a list
of objects, as FLHetBench (github.com/Carkham/FLHetBench) distributes in `data/`. Either may be
packed by `xz`. Rows without a time in the column, or with 0, were not measured and are left out.
"""

from __future__ import annotations

import csv
import io
import logging
import lzma
import math
from pathlib import Path
from reprlib import repr
from typing import Any

import numpy as np

from f3ast_tff.core.client_names import listed
from f3ast_tff.core.errors import DataError, ParameterError
from f3ast_tff.files.csv_rows import csv_rows
from f3ast_tff.files.data_files import MAX_TEXT_BYTES, Limited, json_in, read_bytes
from f3ast_tff.settings.text_values import number_in

_LOGGER = logging.getLogger(__name__)
_XZ = b"\xfd7zXZ\x00"
# Longest time of a device, in milliseconds: a day.
LONGEST = 86_400_000.0


def read_times(path: Path, column: str) -> np.ndarray:
    """Reads a column of times, and says in a line how many rows it has left out.

    Args:
        path: The file, at most 256 MiB unpacked.
        column: Name of the column.

    Returns:
        Milliseconds, above 0, `float64 [D]`, in the order of the rows.

    Raises:
        DataError: If the file is missing, damaged, or has a value that is no time; names the row.
        ParameterError: If there is no such column, or no time in it; names the columns.
    """
    try:
        rows = _rows(_text(path))
        times = [_time(row.get(column), number) for number, row in enumerate(rows, 1)]
    except FileNotFoundError as error:
        raise DataError(f"{path}: there is no such file") from error
    except (OSError, EOFError, ValueError, csv.Error, lzma.LZMAError) as error:
        raise DataError(f"{path}: {error}") from error
    names = list(dict.fromkeys(name for row in rows for name in row))
    found = np.array([time for time in times if time > 0], np.float64)
    if len(found) == 0:
        fault = "has no time in that column" if column in names else "has no such column"
        raise ParameterError("device_column", column, f"{path} {fault}; it has {listed(names)}")
    if len(found) < len(rows):
        _LOGGER.warning(
            "%s: %d of %d devices have a time in column %s; the others are left out",
            *(path, len(found), len(rows), column),
        )
    return found


def _text(path: Path) -> str:
    content = read_bytes(path, MAX_TEXT_BYTES)
    if content.startswith(_XZ):
        packed: Any = lzma.LZMAFile(io.BytesIO(content))  # noqa: SIM115
        content = io.BufferedReader(Limited(packed, MAX_TEXT_BYTES, packed=len(content))).read()
    return content.decode("utf-8-sig")


def _rows(text: str) -> list[dict[str, Any]]:
    """Rows of a JSON list of objects or of a CSV table, told apart by the first character."""
    if text.lstrip()[:1] in ("[", "{"):
        rows = json_in(text)
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise ValueError("must be a list of objects, one per device")
        return rows
    return [row for _, row in csv_rows(text)[1]]


def _time(value: Any, row: int) -> float:
    """The time in a row, 0 if it was not measured."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return 0.0
    try:
        time = number_in(value) if isinstance(value, str) else float(value)
        time = math.nan if isinstance(value, bool) else time
    except (OverflowError, TypeError, ValueError):
        time = math.nan
    if not 0 <= time <= LONGEST:
        raise ValueError(f"device {row}: time {repr(value)} must be milliseconds, at most a day")
    return time
