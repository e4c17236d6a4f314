"""Rows of a CSV table with a line of names, and lines before it."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Callable


def in_utf8(content: bytes) -> bytes:
    """Returns a text in UTF-8 without a byte order mark; it may be in UTF-16 with one."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16").encode()  # As Excel writes "Unicode text".
    return content.removeprefix(codecs.BOM_UTF8)


def csv_rows(text: str) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    r"""Returns the names of the columns, and the number and the entries of each line below.

    Entries are separated by commas, semicolons or tabs, whichever the first line has most of. Empty
    lines are left out. Blanks around a name or an entry do not count.

    Args:
        text: Content of the file.

    Returns:
        Names, and a pair of line number (the line of names is 1) and entries by name per row.

    Raises:
        ValueError: If two columns have one name, or a line has another number of entries.
        csv.Error: If a line is no line of CSV.

    Examples:
        >>> from f3ast_tff.files.csv_rows import csv_rows
        >>> csv_rows("site;0;1\nA;3;5\n")
        (['site', '0', '1'], [(2, {'site': 'A', '0': '3', '1': '5'})])
    """
    first = text.partition("\n")[0]
    lines = csv.reader(
        io.StringIO(text, newline=""), delimiter=max(",;\t", key=first.count), strict=True
    )
    names = [name.strip() for name in next(lines, [])]
    if len(set(names)) < len(names):
        raise ValueError("line 1 names a column twice")
    found = []
    for number, line in enumerate(lines, 2):
        entries = [entry.strip() for entry in line]
        if not any(entries):
            continue
        if len(entries) != len(names):
            raise ValueError(f"line {number} has {len(entries)} values, line 1 {len(names)} names")
        found.append((number, dict(zip(names, entries))))
    return names, found


def after_lines(content: bytes, begins: Callable[[int], bool]) -> tuple[int, int]:
    """Returns the place after a text's first lines of a kind, and their number, in linear time.

    Args:
        content: The text.
        begins: Whether such a line begins at a place.
    """
    place = number = 0
    while place < len(content) and begins(place):
        place, number = content.find(b"\n", place) + 1 or len(content), number + 1
    return place, number
