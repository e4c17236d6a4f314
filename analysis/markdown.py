"""Tables as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns a table; a bar within a cell is escaped.

    Args:
        headings: Of the columns, `""` for none.
        rows: Texts of the cells.
    """
    cells = [[cell.replace("|", r"\|") for cell in row] for row in (headings, *rows)]
    lines = ["|" + "|".join(f" {cell} " if cell else " " for cell in row) + "|" for row in cells]
    return "\n".join([lines[0], "|" + "---|" * len(headings), *lines[1:]])
