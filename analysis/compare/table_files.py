"""Reads a table of scores: CSV, parquet, JSON lines or JSON, by its ending, else as CSV."""

from __future__ import annotations

import codecs
import sys
from pathlib import Path
from typing import Any

import pandas as pd

from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.compare.table_cells import INDEX, labelled
from f3ast_tff.availability.logs.json_tables import frame_of_objects
from f3ast_tff.files.csv_rows import after_lines
from f3ast_tff.files.data_files import MAX_TEXT_BYTES, json_in, read_text
from f3ast_tff.files.messages import one_line
from f3ast_tff.files.packed_files import form_of, read_packed
from f3ast_tff.files.table_files import csv_table, read_parquet

_JSON = (".json", ".jsonl", ".ndjson")
_SHEETS = (".xlsx", ".xls", ".ods")
# Digits of the largest float.
_FLOAT_DIGITS = sys.float_info.max_10_exp
_ROWS = "it must hold an object per row, in an array or one per line"
_DECIMAL_COMMA = r"[-+]?\d*,\d+(?:[eE][-+]?\d+)?\s*%?"


def read_table(path: Path) -> pd.DataFrame:
    """Returns the table of a file; its index names lines (rows from 1 in parquet and JSON arrays).

    In CSV, commas, semicolons or tabs separate cells; without commas between cells, numbers may
    have decimal commas. A column of percentages holds their numbers. An empty cell is a score that
    was not measured, `nan` one of a run that diverged.

    Raises:
        RunsError: If the file cannot be read, or is no table.
    """
    kind = form_of(path)
    if path.is_dir():
        other = "f3ast-tff compare reads folders of runs, docs/judge.md says how to read others"
        raise RunsError(f"{path} is a folder, not a table; {other}")
    try:
        if kind in _SHEETS:
            raise ValueError("save it as CSV")
        if kind == ".parquet":
            return _numbered(labelled(read_parquet(path)), 1)
        if kind in _JSON:
            return _of_json(read_text(path))
        return _of_csv(read_packed(path, MAX_TEXT_BYTES))
    except OSError as error:
        raise RunsError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise RunsError(f"{path} is no table: {one_line(error)}") from error


def _of_csv(content: bytes) -> pd.DataFrame:
    """The cells as texts."""
    content = content.removeprefix(codecs.BOM_UTF8)
    notes = (b"#", b"\n", b"\r\n")
    place, skipped = after_lines(content, lambda begin: content.startswith(notes, begin))
    content = content[place:]
    head = content.partition(b"\n")[0].decode(errors="replace")
    separator = max(",;\t", key=head.count)
    # Blank lines stay, so that rows are counted as lines.
    table = csv_table(
        content,
        sep=separator,
        dtype=str,
        keep_default_na=False,
        skipinitialspace=True,
        skip_blank_lines=False,
    )
    # The first line holds the names.
    table = _numbered(table.rename(columns=str.strip), 2 + skipped)
    table = table.fillna("").apply(lambda column: column.str.strip())
    table = _with_labels(table[(table != "").any(axis=1)])
    return table.apply(_plain_numbers, decimal_comma=separator != ",")


def _with_labels(table: pd.DataFrame) -> pd.DataFrame:
    """The row labels, as pandas writes them, as a column if they do not number the rows.

    Labels that begin anew for each method may be its seeds or its rounds.
    """
    unnamed = "Unnamed: 0"
    if unnamed not in table:
        return table
    if table[unnamed].is_unique or INDEX in table:
        return table.drop(columns=unnamed)
    return table.rename(columns={unnamed: INDEX})


def _plain_numbers(column: pd.Series[str], decimal_comma: bool) -> pd.Series[str]:
    """Percentages and decimal commas as Python's numbers, if a whole column has them."""
    there = column[column != ""]
    with_comma = there.str.fullmatch(_DECIMAL_COMMA)
    if decimal_comma and with_comma.any() and not there[~with_comma].str.contains(",").any():
        column = column.str.replace(",", ".")
    if len(there) and there.str.fullmatch(r"[-+\d.,eE]+\s*%").all():
        column = column.str.rstrip("% ")
    return column


def _of_json(text: str) -> pd.DataFrame:
    """Rows of an array of objects, or an object per line."""
    if text.lstrip().startswith("["):
        rows = json_in(text, parse_constant=str, parse_int=_integer)
    else:
        rows = [_object(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise ValueError(_ROWS)
    table = frame_of_objects(rows)
    return _numbered(table.where(table.notna(), ""), 1)


def _object(number: int, line: str) -> Any:
    try:
        return json_in(line, parse_constant=str, parse_int=_integer)
    except ValueError as error:
        raise ValueError(f"line {number}: {error}; {_ROWS}") from error


def _integer(digits: str) -> int | str:
    """An integer; as a text if no float, and so no pandas, holds it."""
    value = int(digits)
    return value if len(digits) <= _FLOAT_DIGITS else digits


def _numbered(table: pd.DataFrame, first: int) -> pd.DataFrame:
    if table.empty:
        raise ValueError("it has no rows")
    if not table.columns.is_unique:
        raise ValueError("two columns have the same name")
    return table.set_axis(pd.RangeIndex(first, first + len(table)), axis="index")
