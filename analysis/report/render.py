"""The report as files: Markdown with pictures and tables beside it, and one HTML page."""

from __future__ import annotations

import base64
from pathlib import Path

import jinja2

from f3ast_tff.analysis.report.document import Block, Document, Grid, Listing, Picture, Text
from f3ast_tff.atomic import atomic_write

# Longer lines may be broken.
_LONG = 44
_CLASSES = {
    "holds": "holds",
    "does not hold": "fails",
    "not enough runs": "none",
    "not run": "none",
}


def write(document: Document, out: Path) -> None:
    """Writes `report.md`, `report.html`, a CSV file a table and a PNG file a figure.

    Raises:
        OSError: If a file cannot be written.
    """
    out.mkdir(parents=True, exist_ok=True)
    files = {f"{n}.csv": t.to_csv(index=False).encode() for n, t in document.tables.items()}
    files.update({f"{picture.name}.png": picture.png for picture in document.pictures})
    files["report.md"] = to_markdown(document).encode()
    files["report.html"] = to_html(document).encode()
    for name, content in files.items():
        with atomic_write(out / name, "wb") as file:
            file.write(content)


def to_html(document: Document) -> str:
    """Returns the report as a page that needs no other file and no network."""
    loader = jinja2.FileSystemLoader(Path(__file__).parent)
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    )
    environment.filters.update(
        cell_class=_cell_class,
        kind=lambda block: type(block).__name__,
        base64=lambda png: base64.b64encode(png).decode("ascii"),
    )
    return environment.get_template("page.html").render(document=document)


def _cell_class(text: str) -> str:
    lines = text.split("\n")
    long = "long" if max(map(len, lines)) > _LONG else ""
    return " ".join(filter(None, (_CLASSES.get(lines[0], ""), long)))


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
