"""Reads a table of scores: CSV, TSV, parquet, JSON lines or JSON, by its ending or its content."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.files.data_files import read_text
from f3ast_tff.files.messages import one_line
from f3ast_tff.files.table_files import read_csv, read_parquet

_JSON = (".json", ".jsonl", ".ndjson")
_PACKED = (".gz", ".bz2", ".xz", ".zip")


def read_table(path: Path) -> pd.DataFrame:
    """Returns the table of a file; its index names lines (rows from 1 in parquet and JSON arrays).

    An empty cell is a score that was not measured, `nan` one of a run that diverged.

    Raises:
        RunsError: If the file cannot be read, or is no table.
    """
    kind = (path.with_suffix("") if path.suffix.lower() in _PACKED else path).suffix.lower()
    try:
        if kind == ".parquet":
            return _numbered(read_parquet(path), 1)
        if kind in _JSON:
            return _of_json(read_text(path))
        separator = "\t" if kind == ".tsv" else None
        options: dict[str, Any] = {"sep": separator, "engine": "python"} if kind != ".csv" else {}
        # The first line holds the names.
        return _numbered(read_csv(path, dtype=str, keep_default_na=False, **options), 2)
    except OSError as error:
        raise RunsError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise RunsError(f"{path} is no table: {one_line(error)}") from error


def _of_json(text: str) -> pd.DataFrame:
    """Rows of an array of objects, or an object per line."""
    if text.lstrip().startswith("["):
        rows = json.loads(text, parse_constant=str)
    else:
        lines = filter(str.strip, text.splitlines())
        rows = [json.loads(line, parse_constant=str) for line in lines]
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise ValueError("it must hold an object per row, in an array or one per line")
    table = pd.json_normalize(rows).astype(object)
    return _numbered(table.where(table.notna(), ""), 1)


def _numbered(table: pd.DataFrame, first: int) -> pd.DataFrame:
    if table.empty:
        raise ValueError("it has no rows")
    if not table.columns.is_unique:
        raise ValueError("two columns have the same name")
    return table.set_axis(pd.RangeIndex(first, first + len(table)), axis="index")
