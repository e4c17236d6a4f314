"""Rows of a small CSV table, by the names of its columns."""

from __future__ import annotations

import csv
import io
import re

from f3ast_tff.files.csv_text import csv_text

# Names of a last row that holds the sums of the others.
_SUMS = frozenset({"total", "totals", "sum", "grand total", "gesamt", "summe", "insgesamt"})
_WITH_COMMA = re.compile(r"^(\d+),(\d+)$")


def csv_rows(text: str | bytes) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    r"""Returns the names of the columns, and the number and the entries of each line below.

    Empty lines are left out. Blanks around a name or an entry do not count. Decimal commas become
    points.

    Args:
        text: Content of the file, see `csv_text`.

    Returns:
        Names, and a pair of line number and entries by name per row.

    Raises:
        ValueError: If two columns have one name, a line has another number of entries, or is a
            total of the others.
        csv.Error: If a line is no line of CSV.

    Examples:
        >>> from f3ast_tff.files.csv_rows import csv_rows
        >>> csv_rows("site;0;1\nA;3;5\n")
        (['site', '0', '1'], [(2, {'site': 'A', '0': '3', '1': '5'})])
    """
    of = csv_text(text.encode() if isinstance(text, str) else text)
    with_commas = of.decimal == ","
    content = io.StringIO(of.content.decode(), newline="")
    lines = csv.reader(content, delimiter=of.separator, strict=True)
    names = [name.strip() for name in next(lines, [])]
    if len(set(names)) < len(names):
        raise ValueError(f"line {of.first} names a column twice")
    found = []
    for number, line in enumerate(lines, of.first + 1):
        entries = [entry.strip() for entry in line]
        if not any(entries):
            continue
        if len(entries) != len(names):
            count = f"line {of.first} {len(names)} names"
            raise ValueError(f"line {number} has {len(entries)} values, {count}")
        if entries[0].lower().strip(":") in _SUMS:
            raise ValueError(f"line {number} is called {entries[0]}: leave out sums of other rows")
        if with_commas:
            entries = [_WITH_COMMA.sub(r"\1.\2", each) for each in entries]
        found.append((number, dict(zip(names, entries))))
    return names, found
