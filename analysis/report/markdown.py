"""The report as Markdown, with pictures as files beside it."""

from __future__ import annotations

from f3ast_tff.analysis.report.document import Block, Document, Grid, Listing, Picture, Text


def to_markdown(document: Document) -> str:
    """Returns the report as Markdown (GitHub's tables)."""
    parts = [f"# {document.title}"]
    for section in document.sections:
        parts.append(f"## {section.title}")
        parts += [_block(block) for block in section.blocks]
    files = ", ".join(f"[{name}.csv]({name}.csv)" for name in document.tables)
    return "\n\n".join([*parts, f"Tables as CSV: {files}"]) + "\n"


def _block(block: Block) -> str:
    if isinstance(block, Text):
        return _escape(block.text)
    if isinstance(block, Picture):
        return f"![{_escape(block.caption)}]({block.name}.png)\n\n{_escape(block.caption)}"
    if isinstance(block, Listing):
        return "\n".join([f"{_escape(block.title)}:\n", *(f"- {_escape(x)}" for x in block.lines)])
    return _grid(block)


def _grid(grid: Grid) -> str:
    lines = [_row(grid.head), "|" + "---|" * len(grid.head), *map(_row, grid.rows)]
    return f"{_escape(grid.caption)}\n\n" + "\n".join(lines)


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(_escape(cell).replace("\n", "<br>") for cell in cells) + " |"


def _escape(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{c}" if c in "\\|*_[]`" else c for c in text)
