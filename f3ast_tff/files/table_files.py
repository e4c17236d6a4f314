"""Reads foreign CSV and parquet files as pandas tables, of at most a stated number of bytes."""

from __future__ import annotations

import csv
import io
import logging
import os
from pathlib import Path
from typing import Any

from f3ast_tff.core.frame_columns import is_number
from f3ast_tff.files.csv_text import after_lines
from f3ast_tff.files.data_files import MAX_TEXT_BYTES, first_twice, open_regular
from f3ast_tff.files.packed_files import read_packed

_LOG = logging.getLogger(__name__)
# Limit on the bytes of a parquet file's unpacked values.
MAX_PARQUET_BYTES = 2**31
# Bytes of a value in an array, and of the array in each row of a column of lists.
_VALUE_BYTES, _ARRAY_BYTES = 8, 128


# What begins a formula in a spreadsheet; the quote too, so that no two names become one.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")


def as_cell(text: str) -> str:
    """Returns a text for a CSV file that spreadsheets open: with a quote before, if a formula.

    Examples:
        >>> from f3ast_tff.files.table_files import as_cell
        >>> [as_cell(text) for text in ("=1+1", "'=1+1", "-5", "phone")]
        ["'=1+1", "''=1+1", '-5', 'phone']
    """
    return f"'{text}" if text.startswith(_FORMULA) and not is_number(text) else text


def read_csv(path: Path | str, **options: Any) -> Any:
    """Returns the table in a CSV file of at most 256 MiB, also packed: see `packed_files`.

    Args:
        path: The file.
        **options: Options of `pandas.read_csv`.

    Raises:
        OSError: If it cannot be read.
        ValueError: If it is no CSV table, is damaged, holds more bytes, does not fit into memory,
            names two columns alike, or is no regular file.
    """
    return csv_table(read_packed(path, MAX_TEXT_BYTES), **options)


def csv_table(content: bytes, **options: Any) -> Any:
    """Returns the table in the content of a CSV file; see `read_csv`."""
    import pandas as pd

    if b"\0" in content:
        # pandas would drop the rest of the value: two names could become one.
        raise ValueError("it holds a NUL character: must be a text in UTF-8")
    try:
        if options.get("header", 0) == 0:
            _refuse_names_twice(content, options.get("sep", ","))
        frame = pd.read_csv(io.BytesIO(content), **options)
    except MemoryError as error:
        raise ValueError("it does not fit into memory") from error
    if len(frame) and not isinstance(frame.index, pd.RangeIndex):
        # pandas takes the first values as row labels then: every name moves by a column.
        last = frame.iloc[:, -1]
        if (last.isna() | (last == "")).all() or not _are_row_numbers(frame.index):
            raise ValueError(
                "its rows have more values than its first line has names: delete separators at "
                "the ends of lines; in R write.csv(row.names = FALSE) leaves out row names"
            )
        frame = frame.reset_index(drop=True)
    return frame


def _are_row_numbers(labels: Any) -> bool:
    """Whether labels are those that R writes before rows, without a name: 1 to n."""
    filled = [str(label) for label in labels if str(label) not in ("", "nan")]
    return labels.nlevels == 1 and filled == [str(n + 1) for n in range(len(filled))]


def _refuse_names_twice(content: bytes, separator: str) -> None:
    """Raises `ValueError` if two columns have one name: pandas would number the second."""
    place, _ = after_lines(content, lambda begin: content.startswith((b"\n", b"\r\n"), begin))
    end = content.find(b"\n", place)
    head = content[place : len(content) if end < 0 else end].decode("utf-8-sig", "replace")
    try:
        line = next(csv.reader([head], delimiter=separator, skipinitialspace=True), [])
    except csv.Error as error:
        raise ValueError(f"its first line: {error}") from error
    if (twice := first_twice(name.strip() for name in line if name.strip())) is not None:
        raise ValueError(f"two columns have the name {twice[:80]!r}")


def read_parquet(path: Path | str) -> Any:
    """Returns the Arrow table in a parquet file whose values take at most 2 GiB.

    `to_pandas` makes categories of texts. Texts within lists are left out.

    Raises:
        OSError: If it cannot be read.
        ValueError: If it is no parquet table, declares more values, or is no regular file.
        Exception: Any error of the reader for a damaged file.
    """
    import pyarrow.parquet as pq

    with open_regular(path) as file:
        opened = pq.ParquetFile(file)
        leaves = [opened.schema.column(i) for i in range(len(opened.schema))]
        texts = [leaf for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
        # Categories keep a repeated text once in memory, as the file does.
        flat = [leaf.path for leaf in texts if leaf.path == leaf.name]
        nested = {leaf.path.partition(".")[0] for leaf in texts if leaf.path != leaf.name}
        if nested:
            _LOG.warning("not read, texts within others: %s", ", ".join(sorted(nested)))
        names = [name for name in opened.schema_arrow.names if name not in nested]
        declared = _declared_bytes(opened.metadata, leaves, nested)
        if declared > MAX_PARQUET_BYTES:
            raise ValueError(
                f"its {os.fstat(file.fileno()).st_size} bytes hold values of {declared} bytes, "
                f"more than {MAX_PARQUET_BYTES}"
            )
        opened = pq.ParquetFile(file, metadata=opened.metadata, read_dictionary=flat)
        return opened.read(columns=names)


def _declared_bytes(metadata: Any, leaves: list[Any], nested: set[str]) -> int:
    total = 0
    for g in range(metadata.num_row_groups):
        group = metadata.row_group(g)
        for i, leaf in enumerate(leaves):
            if leaf.path.partition(".")[0] in nested:
                continue
            chunk = group.column(i)
            total += chunk.num_values * max(leaf.length, _VALUE_BYTES)
            total += group.num_rows * _ARRAY_BYTES if leaf.max_repetition_level else 0
            total += chunk.total_uncompressed_size if leaf.physical_type == "BYTE_ARRAY" else 0
    return total
