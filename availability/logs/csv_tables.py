"""Tables in CSV files, as programs write them: separators, lines before the names, annotations."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from f3ast_tff.core.errors import DataError
from f3ast_tff.files.csv_rows import after_lines, in_utf8
from f3ast_tff.files.data_files import MAX_TEXT_BYTES, first_twice
from f3ast_tff.files.packed_files import read_packed
from f3ast_tff.files.table_files import csv_table

CSV_FORMS = (".csv", ".tsv", ".tab")
_SEPARATORS = ",;\t|"
_HEADER_BYTES = 2**24
# Lines by which the separator is chosen.
_LOOKED_AT = 20
# Wider tables are parsed row by row: pandas takes long for each column.
_WIDE = 500
_REASON = 300
_ANNOTATIONS = (b"#group", b"#datatype", b"#default")
# Columns of InfluxDB's tables that are no tags.
_NO_TAGS = ("result", "table")


@dataclass(frozen=True)
class CsvText:
    """The content of a CSV file.

    Attributes:
        name: Name in messages.
        content: Its bytes, from the line of names on.
        entries: The entries of its first line.
        separator: Character between entries.
        first: Number of the first line, from 1.
        groups: Columns by which InfluxDB's tables are told apart, with tags; empty otherwise.
        annotated: Whether it is InfluxDB's annotated CSV.
    """

    name: str
    content: bytes
    entries: list[str]
    separator: str
    first: int = 1
    groups: tuple[str, ...] = ()
    annotated: bool = False


def csv_text(path: Path) -> CsvText:
    """Reads a CSV file in UTF-8, or in UTF-16 with a byte order mark, packed or not.

    Raises:
        OSError: If it cannot be read.
        ValueError: If it is too large, damaged or no regular file.
        DataError: If its first line is no line of CSV.
    """
    content, name = read_packed(path, MAX_TEXT_BYTES), str(path)
    content = in_utf8(content)
    first, separator = 1, ""
    line, _, rest = content.partition(b"\n")
    if (given := re.fullmatch(rb'"?sep=([,;|\t])"?\s*', line[:16])) is not None:
        content, first, separator = rest, 2, given[1].decode()
    if content.lstrip().startswith(_ANNOTATIONS):
        return _annotated(content, name)
    place, notes = after_lines(
        content, lambda begin: content.startswith(b"#", begin) and not _is_header(content, begin)
    )
    content, first = content[place:], first + notes
    if content.startswith(b"#"):
        content = content[1:].lstrip(b" \t")
    entries, separator = _first_entries(content, name, separator)
    return CsvText(name, content, entries, separator, first)


def _is_header(content: bytes, begin: int) -> bool:
    """Whether a line with `#`, which begins at a place, has as many separators as the next."""
    end = content.find(b"\n", begin)
    last = content.find(b"\n", end + 1)
    ends = [(begin, end), (end + 1, len(content) if last < 0 else last)]
    counts = [[content.count(each, *span) for each in (b",", b";", b"\t", b"|")] for span in ends]
    return end >= 0 and counts[0] == counts[1] and any(counts[0])


def _first_entries(content: bytes, name: str, separator: str = "") -> tuple[list[str], str]:
    lines = [
        line.decode("utf-8", "replace").strip("\r\n")
        for line in content[:_HEADER_BYTES].split(b"\n", _LOOKED_AT)[:_LOOKED_AT]
    ]
    text = lines[0] or "0"
    separator = separator or _separator([line for line in lines if line])
    try:
        found = next(csv.reader([text], delimiter=separator, skipinitialspace=True))
    except csv.Error as error:
        raise DataError(f"{name}: line 1: {error}") from error
    return [entry.strip() for entry in found], separator


def _separator(lines: list[str]) -> str:
    """The character that stands as often in each line; of several, or none, the most frequent."""
    outside = [re.sub(r'"[^"]*"', "", line) for line in lines] or [""]
    counts = {each: [line.count(each) for line in outside] for each in _SEPARATORS}
    even = [each for each in _SEPARATORS if counts[each][0] and len({*counts[each]}) == 1]
    return max(even or ",;\t", key=lambda each: counts[each][0])


def _annotated(content: bytes, name: str) -> CsvText:
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
    text = b"\n".join(kept)
    tags = tuple(each for each in groups if each and each[0] != "_" and each not in _NO_TAGS)
    return CsvText(name, text, _first_entries(text, name, ",")[0], ",", 1, tags, annotated=True)


def csv_frame(text: CsvText, *, header: bool = True) -> Any:
    """Returns the table of a CSV file as texts, with rows numbered by lines of the file.

    Raises:
        DataError: If it is no table, or two columns have one name.
    """
    import pandas as pd

    if header and (twice := first_twice(filter(None, text.entries))) is not None:
        raise DataError(f"{text.name}: line {text.first} has {twice[:80]!r} twice")
    first = text.first + header
    try:
        if len(text.entries) > _WIDE and header:
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
        raise DataError(f"{text.name}: {' '.join(str(error).split())[:_REASON]}") from error
    frame.index = pd.RangeIndex(first, len(frame) + first, name="line")
    empty = np.ones(len(frame), bool)
    for _, column in frame.items():
        if not empty.any():
            break
        empty &= (column == "").to_numpy(bool)
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
