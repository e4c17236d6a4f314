"""Sources of the checkout as syntax trees: each file is read once, whichever tests ask."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path


def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a file, in the order of `ast.walk`."""
    return _nodes(path.resolve())


@functools.cache
def _nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def imports(path: Path) -> Iterator[ast.Import | ast.ImportFrom]:
    """Imports of a file, also inside functions and for types only."""
    for node in nodes(path):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
