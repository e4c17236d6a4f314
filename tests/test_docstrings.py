"""Public methods are documented: by a docstring, the overridden method's, or a protocol's."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests import sources

ROOT = Path(__file__).parents[1]
FOLDERS = ("f3ast_tff", "analysis", "availability", "datasets", "tools")


def classes() -> Iterator[tuple[str, ast.ClassDef]]:
    """Each class of the sources, with its file."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in sources.nodes(path):
                if isinstance(node, ast.ClassDef):
                    yield str(path.relative_to(ROOT)), node


def methods(node: ast.ClassDef) -> dict[str, str | None]:
    """The docstring of each method."""
    return {each.name: ast.get_docstring(each) for each in node.body if _is_function(each)}


def _is_function(node: ast.stmt) -> bool:
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))


def test_public_methods_are_documented() -> None:
    """Bases are found by name; any class of that name may document the method.

    Classes need not derive from the protocols that they fulfil.
    """
    found = list(classes())
    by_name: dict[str, list[ast.ClassDef]] = {}
    for _, node in found:
        by_name.setdefault(node.name, []).append(node)

    of_protocols = {
        name
        for _, node in found
        if any(ast.unparse(base).partition("[")[0] == "Protocol" for base in node.bases)
        for name, text in methods(node).items()
        if text
    }

    def documented(node: ast.ClassDef, method: str) -> bool:
        bases = [ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases]
        return bool(methods(node).get(method)) or any(
            documented(each, method)
            for base in bases
            for each in by_name.get(base, ())
            if each is not node
        )

    lacking = [
        f"{file}: {node.name}.{method}"
        for file, node in found
        if not node.name.startswith("_")
        for method in methods(node)
        if not (method.startswith("_") or method in of_protocols or documented(node, method))
    ]
    assert not lacking, "\n".join(lacking)
