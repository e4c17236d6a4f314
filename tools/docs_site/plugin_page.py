"""The page of the example plug-ins: their sources."""

from __future__ import annotations

import ast
from pathlib import Path


def markdown(folder: Path) -> str:
    """Returns the sources of a folder of plug-ins as a page, each below its first line."""
    lines = [
        "# Plug-ins",
        "",
        "Components in one file each. [Adding a component](../docs/extending.md) explains them.",
    ]
    for path in sorted(folder.glob("*.py")):
        source = path.read_text()
        first = (ast.get_docstring(ast.parse(source)) or path.stem).splitlines()[0]
        lines += ["", f"## `{path.name}`", "", first, "", "```python", source.rstrip(), "```"]
    return "\n".join(lines) + "\n"
