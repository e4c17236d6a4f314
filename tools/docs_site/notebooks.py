"""A notebook as a page: executed, with the text and the pictures of its cells."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

# Longest time of a cell, seconds.
TIMEOUT = 300


@dataclass(frozen=True)
class NotebookPage:
    """A notebook as Markdown, and its pictures by file name."""

    markdown: str
    pictures: Mapping[str, bytes]


def executed(path: Path, folder: Path) -> Any:
    """Returns a notebook with the outputs of its cells, run in `folder`.

    Raises:
        nbclient.exceptions.CellExecutionError: If a cell fails.
    """
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(folder)}}
    client = NotebookClient(notebook, timeout=TIMEOUT, resources=resources)
    # Log errors only: otherwise the kernel warns that it uses a local port.
    client.extra_arguments = ["--log-level=40"]
    return client.execute()


def page(path: Path, folder: Path | None) -> NotebookPage:
    """Returns a notebook as a page.

    Args:
        path: The notebook.
        folder: Folder to execute it in; `None` shows it without outputs.
    """
    notebook = nbformat.read(path, as_version=4) if folder is None else executed(path, folder)
    lines: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            lines += [cell.source, ""]
            continue
        lines += ["```python", cell.source, "```", ""]
        for text, picture in _outputs(cell):
            if picture:
                name = f"{path.stem}-{len(pictures) + 1}.png"
                pictures[name] = picture
                lines += [f"![{text}]({name})", ""]
            else:
                lines += ["```text", text.rstrip(), "```", ""]
    return NotebookPage("\n".join(lines), pictures)


def _outputs(cell: Any) -> Iterator[tuple[str, bytes]]:
    """Yields a cell's outputs as (text, PNG); the PNG is empty for printed text."""
    for output in cell.outputs:
        data = output.get("data", {})
        if "image/png" in data:
            yield "the figure that the cell draws", base64.b64decode(data["image/png"])
        elif output.get("name") == "stdout" or "text/plain" in data:
            yield output.get("text", "") or data["text/plain"], b""
