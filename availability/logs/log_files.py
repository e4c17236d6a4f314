"""Files of logs that hold tables: which form a file has, by its ending and its content."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from reprlib import repr
from typing import Any

import numpy as np

from f3ast_tff.availability.logs.csv_tables import LogCsv, csv_frame, log_csv
from f3ast_tff.availability.logs.json_tables import LINES_FORMS, PROMETHEUS, json_table
from f3ast_tff.availability.logs.log_columns import LOG_FORMS, Given
from f3ast_tff.availability.logs.log_masks import CLOCKS
from f3ast_tff.availability.logs.log_table import LogTable
from f3ast_tff.core.errors import DataError
from f3ast_tff.core.frame_columns import is_number
from f3ast_tff.files.csv_text import CSV_FORMS
from f3ast_tff.files.data_files import MAX_TEXT_BYTES, first_twice
from f3ast_tff.files.packed_files import PACKED, form_of, read_packed
from f3ast_tff.files.table_files import read_parquet

PARQUET_FORMS = (".parquet", ".pq")
# Words of the first row of a table of states without names.
_UNNAMED_STATES = ({"true", "false"}, {"t", "f"}, {"on", "off"}, {"yes", "no"})
_NUMBER = re.compile(r"[0-9]+(?:\.0+)?")
# Columns of InfluxDB's tables that are none of its tags, times or values.
_OF_INFLUX = ("result", "table", "_start", "_stop", "_field", "_measurement")
_REASON = 300


def table_of(path: Path, given: Given) -> LogTable | None:
    """Returns the table in a file; `None` for a file of another form, such as masks or traces.

    Args:
        path: The file.
        given: What the user says of it.

    Raises:
        DataError: If it cannot be read; names the file, and the line.
    """
    form, packed = form_of(path), path.suffix.lower() in PACKED
    if form not in (*CSV_FORMS, *LINES_FORMS, *PARQUET_FORMS, ".json"):
        return None
    if not path.is_file():
        if form == ".json":
            return None
        raise DataError(f"{path}: there is no such file")
    if form in CSV_FORMS:
        text = _read(path, log_csv)
        if {entry.lower() for entry in text.entries} in _UNNAMED_STATES:
            return LogTable(csv_frame(text, header=False), str(path), named=False)
        if given.names_columns or _is_header(text):
            return _csv_table(text)
        if packed:
            raise DataError(f"{path}: masks without names of clients must be unpacked first")
        return None
    if form in PARQUET_FORMS:
        return None if packed else LogTable(_parquet(path), str(path))
    content = _read(path, read_packed, MAX_TEXT_BYTES)
    found = json_table(content, str(path), lines=form in LINES_FORMS)
    if found is None:
        return None
    frame, of = found
    return LogTable(frame, str(path), form=of, sampled=of == PROMETHEUS)


def _read(path: Path, read: Callable[..., Any], *limits: int) -> Any:
    try:
        return read(path, *limits)
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: {error}") from error


def _csv_table(text: LogCsv) -> LogTable:
    frame = csv_frame(text)
    if not text.annotated:
        return LogTable(frame, text.name)
    tags = [tag for tag in text.groups if tag in frame.columns]
    varied = [tag for tag in tags if frame[tag].nunique() > 1] or tags
    fields = [] if "_field" not in frame.columns else sorted({*frame["_field"]})
    if len(fields) > 1:
        allowed = f"its _field has {', '.join(fields[:5])}: export one"
        raise DataError(f"{text.name}: InfluxDB's annotated CSV (#group): {allowed}")
    if len(varied) != 1 or not {"_time", "_value"} <= {*frame.columns}:
        return LogTable(frame[[c for c in frame.columns if c not in _OF_INFLUX]], text.name)
    roles = {"device": varied[0], "time": "_time", "state": "_value"}
    return LogTable(frame, text.name, roles, "InfluxDB's annotated CSV")


def _parquet(path: Path) -> Any:
    import pyarrow as pa

    try:
        return read_parquet(path).to_pandas()
    except (OSError, ValueError, TypeError, NotImplementedError, pa.ArrowException) as error:
        reason = " ".join(f"{error}"[:_REASON].split())
        raise DataError(f"{path}: not a table: {reason}") from error


def _is_header(text: LogCsv) -> bool:
    """Whether a CSV file's first line names columns; refuses one that is no mask either."""
    entries = text.entries
    words = [entry for entry in entries if not is_number(entry)]
    if (twice := first_twice(filter(None, words))) is not None:
        raise DataError(f"{text.name}: line {text.text.first} has {twice[:80]!r} twice")
    if len(words) == len(entries) or entries[0].lower() in CLOCKS:
        return True
    # Numbers name clients if they rise: a row of zeros and ones does not, beyond 0,1.
    numbers = entries[1:] if words == entries[:1] else entries
    if all(_NUMBER.fullmatch(entry) for entry in numbers) and {*numbers} - {"0", "1", "0.0", "1.0"}:
        values = np.array(numbers, float)
        if (np.diff(values) > 0).all():
            return True
        if (twice := first_twice(numbers)) is not None and not {*numbers} & {"0", "1"}:
            raise DataError(f"{text.name}: line {text.text.first} has {twice[:80]!r} twice")
    if words:
        allowed = f"must be zeros and ones, or names of columns, such as {LOG_FORMS}"
        raise DataError(f"{text.name}: line {text.text.first} has {repr(words[0])}: {allowed}")
    return False
