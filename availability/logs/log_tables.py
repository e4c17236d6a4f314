"""Reads logs as tables: CSV, JSON lines and parquet, as programs write them."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from f3ast_tff.core.errors import DataError
from f3ast_tff.files.data_files import MAX_TEXT_BYTES, open_regular, read_bytes, read_text
from f3ast_tff.files.table_files import read_csv, read_parquet

CSV_FORMS = (".csv", ".tsv")
LINES_FORMS = (".jsonl", ".ndjson")
PARQUET_FORMS = (".parquet", ".pq")
TABLE_FORMS = (*LINES_FORMS, *PARQUET_FORMS)
_HEADER_BYTES = 2**24
# Wider tables are parsed row by row: pandas takes long for each column.
_WIDE = 500
_REASON = 300


def first_entries(path: Path) -> tuple[list[str], str]:
    """Returns the entries of a CSV file's first line, and the separator.

    Raises:
        OSError: If it cannot be read.
        DataError: If it is no line of CSV.
    """
    with open_regular(path) as file:
        text = file.readline(_HEADER_BYTES).decode("utf-8-sig", "replace").strip("\r\n") or "0"
    outside = re.sub(r'"[^"]*"', "", text)
    separator = max(",;\t", key=outside.count)
    lines = csv.reader([text], delimiter=separator, skipinitialspace=True)
    try:
        return [entry.strip() for entry in next(lines)], separator
    except csv.Error as error:
        raise DataError(f"{path}: line 1: {error}") from error


def read_csv_log(path: Path, separator: str, *, header: bool = True) -> Any:
    """Returns the table of a CSV file as texts, with rows numbered by lines of the file.

    Raises:
        DataError: If it is no table.
    """
    import pandas as pd

    try:
        entries, _ = first_entries(path)
        if len(entries) > _WIDE and header:
            return _wide(path, separator)
        frame = read_csv(
            path,
            sep=separator,
            dtype=str,
            keep_default_na=False,
            skip_blank_lines=False,
            skipinitialspace=True,
            header=0 if header else None,
        )
        _refuse_open_quotes(frame, 2 if header else 1)
    except (OSError, ValueError, csv.Error) as error:
        raise DataError(f"{path}: {' '.join(str(error).split())[:_REASON]}") from error
    first = 2 if header else 1
    frame.index = pd.RangeIndex(first, len(frame) + first, name="line")
    return frame[(frame != "").any(axis=1)]


def _refuse_open_quotes(frame: Any, first: int) -> None:
    """Refuses an entry of several lines: a stray quotation mark hides all up to the next one."""
    ends = [column.str.contains("[\r\n]").to_numpy(bool) for _, column in frame.items()]
    rows: Any = np.flatnonzero(np.any(ends, axis=0)) if ends else []
    if len(rows):
        raise ValueError(f"line {first + rows[0]} has a quotation mark that does not end there")


def _wide(path: Path, separator: str) -> Any:
    import pandas as pd

    lines = csv.reader(
        io.StringIO(read_text(path), newline=""), delimiter=separator, skipinitialspace=True
    )
    names = [name.strip() for name in next(lines)]
    rows, numbers = [], []
    for number, row in enumerate(lines, 2):
        if any(row):
            if len(row) != len(names):
                raise ValueError(f"line {number} has {len(row)} values, line 1 {len(names)} names")
            rows.append(np.array(row, object))
            numbers.append(number)
    table = np.stack(rows) if rows else np.empty((0, len(names)), object)
    return pd.DataFrame(table, pd.Index(numbers, name="line"), names)


def read_table(path: Path) -> Any:
    """Returns the table of a file of JSON lines, a JSON list of objects, or a parquet file.

    Raises:
        DataError: If it is no table.
    """
    import pandas as pd

    try:
        if path.suffix.lower() in PARQUET_FORMS:
            return read_parquet(path)
        content = read_bytes(path, MAX_TEXT_BYTES)
        lines = content.lstrip()[:1] != b"["
        # pandas' reader guesses dates, and how it is told not to depends on its version.
        text = content.decode("utf-8-sig")
        rows = (
            [*map(json.loads, filter(str.strip, text.split("\n")))] if lines else json.loads(text)
        )
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise ValueError("must be JSON objects")
        frame = pd.DataFrame(rows)
    except FileNotFoundError as error:
        raise DataError(f"{path}: there is no such file") from error
    # Readers raise many types (ValueError, types of pyarrow ...).
    except Exception as error:
        reason = " ".join(f"{error}"[:_REASON].split())
        raise DataError(f"{path}: not a table: {reason}") from error
    if lines:
        frame.index = pd.RangeIndex(1, len(frame) + 1, name="line")
    return frame


def holds_lines(path: Path) -> bool:
    """Whether a JSON file holds an object per line, or a list of objects."""
    with open_regular(path) as file:
        head = file.read(2**20)
    first, _, rest = head.strip().partition(b"\n")
    if first[:1] == b"[":
        return True
    try:
        found = json.loads(first)
    except ValueError:
        return False
    return isinstance(found, dict) and (
        bool(rest.strip()) or not any(isinstance(value, (dict, list)) for value in found.values())
    )
