"""Tables in CSV files, as programs write them: separators, lines before the names, annotations."""

from __future__ import annotations

import codecs
import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from f3ast_tff.core.errors import DataError
from f3ast_tff.files.csv_text import CsvText, csv_text
from f3ast_tff.files.data_files import MAX_TEXT_BYTES, first_twice
from f3ast_tff.files.packed_files import read_packed
from f3ast_tff.files.table_files import csv_table

# Wider tables are parsed row by row: pandas takes long for each column.
_WIDE = 500
_REASON = 300
_ANNOTATIONS = (b"#group", b"#datatype", b"#default")
# Columns of InfluxDB's tables that are no tags.
_NO_TAGS = ("result", "table")


@dataclass(frozen=True)
class LogCsv:
    """A log in CSV.

    Attributes:
        name: Name in messages.
        text: The table.
        entries: The entries of its first line.
        groups: Columns by which InfluxDB's tables are told apart, with tags; empty otherwise.
        annotated: Whether it is InfluxDB's annotated CSV.
    """

    name: str
    text: CsvText
    entries: list[str]
    groups: tuple[str, ...] = ()
    annotated: bool = False


def log_csv(path: Path) -> LogCsv:
    """Reads a CSV file, packed or not; see `csv_text`.

    Raises:
        OSError: If it cannot be read.
        ValueError: If it is too large, damaged or no regular file.
        DataError: If its first line is no line of CSV.
    """
    content, name = read_packed(path, MAX_TEXT_BYTES), str(path)
    if content.removeprefix(codecs.BOM_UTF8).lstrip().startswith(_ANNOTATIONS):
        return _annotated(content.removeprefix(codecs.BOM_UTF8), name)
    text = csv_text(content)
    return LogCsv(name, text, _entries(text, name))


def _entries(text: CsvText, name: str) -> list[str]:
    line = text.content.partition(b"\n")[0].decode("utf-8", "replace").strip("\r") or "0"
    try:
        found = next(csv.reader([line], delimiter=text.separator, skipinitialspace=True))
    except csv.Error as error:
        raise DataError(f"{name}: line 1: {error}") from error
    return [entry.strip() for entry in found]


def _annotated(content: bytes, name: str) -> LogCsv:
    """InfluxDB's annotated CSV without its annotations: tables of one line of names become one."""
    kept: list[bytes] = []
    header: bytes | None = None
    groups: tuple[str, ...] = ()
    defaults: list[str] = []
    awaited = True
    for line in content.replace(b"\r\n", b"\n").split(b"\n"):
        if line.startswith(b"#"):
            awaited = True
            if line.startswith(b"#group") and not kept:
                defaults = [entry.strip() for entry in line.decode("utf-8", "replace").split(",")]
        elif line.strip() and awaited:
            awaited = False
            if header is not None and line != header:
                raise DataError(
                    f"{name}: InfluxDB's annotated CSV (#group) with tables of other columns: "
                    "export one measurement"
                )
            if header is None:
                header = line
                names = [entry.strip() for entry in line.decode("utf-8", "replace").split(",")]
                groups = tuple(n for n, group in zip(names, defaults) if group == "true")
                kept.append(line)
        elif line.strip():
            kept.append(line)
    if header is None:
        raise DataError(f"{name}: InfluxDB's annotated CSV (#group) without a table")
    text = CsvText(b"\n".join(kept), ",")
    tags = tuple(each for each in groups if each and each[0] != "_" and each not in _NO_TAGS)
    return LogCsv(name, text, _entries(text, name), tags, annotated=True)


def csv_frame(log: LogCsv, *, header: bool = True) -> Any:
    """Returns the table of a CSV file as texts, with rows numbered by lines of the file.

    Raises:
        DataError: If it is no table, or two columns have one name.
    """
    import pandas as pd

    text = log.text
    if header and (twice := first_twice(filter(None, log.entries))) is not None:
        raise DataError(f"{log.name}: line {text.first} has {twice[:80]!r} twice")
    first = text.first + header
    try:
        if len(log.entries) > _WIDE and header:
            return _wide(text)
        frame = csv_table(
            text.content,
            sep=text.separator,
            dtype=str,
            keep_default_na=False,
            skip_blank_lines=False,
            skipinitialspace=True,
            header=0 if header else None,
        )
        _refuse_open_quotes(frame, first)
    except (OSError, ValueError, csv.Error) as error:
        raise DataError(f"{log.name}: {' '.join(str(error).split())[:_REASON]}") from error
    if text.decimal == ",":
        frame = frame.replace({r"^\s*([-+]?\d+),(\d+)\s*$": r"\1.\2"}, regex=True)
    frame.index = pd.RangeIndex(first, len(frame) + first, name="line")
    empty = np.ones(len(frame), bool)
    for _, column in frame.items():
        if not empty.any():
            break
        empty &= (column == "").to_numpy(bool)
    again = (frame.iloc[:, 0] == frame.columns[0]).to_numpy(bool)
    # Of files put together, the names come again.
    empty[again] |= (frame[again] == list(frame.columns)).all(axis=1)
    return frame[~empty] if empty.any() else frame


def _refuse_open_quotes(frame: Any, first: int) -> None:
    """Refuses an entry of several lines: a stray quotation mark hides all up to the next one."""
    for _, column in frame.items():
        whole = "\x1f".join(column.tolist())
        if "\n" in whole or "\r" in whole:
            odd = column.str.contains("[\r\n]").to_numpy(bool)
            line = first + int(np.argmax(odd))
            raise ValueError(f"line {line} has a quotation mark that does not end there")


def _wide(text: CsvText) -> Any:
    import pandas as pd

    lines = csv.reader(
        io.StringIO(text.content.decode("utf-8"), newline=""),
        delimiter=text.separator,
        skipinitialspace=True,
    )
    names = [name.strip() for name in next(lines)]
    rows, numbers = [], []
    for number, row in enumerate(lines, text.first + 1):
        if any(row):
            if len(row) != len(names):
                raise ValueError(
                    f"line {number} has {len(row)} values, line {text.first} {len(names)} names"
                )
            rows.append(np.array(row, object))
            numbers.append(number)
    table = np.stack(rows) if rows else np.empty((0, len(names)), object)
    return pd.DataFrame(table, pd.Index(numbers, name="line"), names)
