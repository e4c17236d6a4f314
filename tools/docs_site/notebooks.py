"""A notebook as a page: its text, and the outputs that it holds (`tools/notebooks.py`)."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class NotebookPage:
    """A notebook as Markdown, and its pictures by file name."""

    markdown: str
    pictures: Mapping[str, bytes]


def page(path: Path) -> NotebookPage:
    """Returns a notebook as a page, with its outputs."""
    lines: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in json.loads(path.read_text())["cells"]:
        source = _text(cell["source"])
        if cell["cell_type"] == "markdown":
            lines += [source, ""]
            continue
        lines += ["```python", source, "```", ""]
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
    for output in cell["outputs"]:
        data = output.get("data", {})
        if "image/png" in data:
            yield "the figure that the cell draws", base64.b64decode(_text(data["image/png"]))
        elif output.get("name") == "stdout" or "text/plain" in data:
            yield _text(output.get("text") or data["text/plain"]), b""


def _text(lines: str | list[str]) -> str:
    return "".join(lines)
