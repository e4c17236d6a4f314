"""Sites in a source where one operator or number can change, and the changed source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
}


@dataclass(frozen=True)
class Site:
    """One change.

    Attributes:
        path: The source.
        line: Its line, from 1.
        index: Index of the node in the source's tree, in the order of `ast.walk`.
        change: Description of the change.
    """

    path: Path
    line: int
    index: int
    change: str


def sites_of(path: Path) -> Iterator[Site]:
    """Yields all sites of a source; annotations, decorators and texts have none."""
    tree = ast.parse(path.read_text())
    untouched = _untouched(tree)
    for index, node in enumerate(ast.walk(tree)):
        if id(node) in untouched:
            continue
        change = _change(node)
        if change:
            yield Site(path, getattr(node, "lineno", 0), index, change)


def mutated(site: Site) -> str:
    """Returns the source with this one change."""
    tree = ast.parse(site.path.read_text())
    node = next(node for index, node in enumerate(ast.walk(tree)) if index == site.index)
    if isinstance(node, ast.Compare):
        node.ops[0] = _COMPARISONS[type(node.ops[0])]()
    elif isinstance(node, ast.BinOp):
        node.op = _ARITHMETIC[type(node.op)]()
    elif isinstance(node, ast.BoolOp):
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    elif isinstance(node, ast.If):
        node.test = ast.UnaryOp(ast.Not(), node.test)
    elif isinstance(node, ast.Constant):
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1
    return ast.unparse(ast.fix_missing_locations(tree))


def _change(node: ast.AST) -> str:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        new = _COMPARISONS.get(type(node.ops[0]))
        return f"{type(node.ops[0]).__name__} to {new.__name__}" if new else ""
    if isinstance(node, ast.BinOp):
        of = _ARITHMETIC.get(type(node.op))
        texts = any(isinstance(side, ast.JoinedStr) for side in (node.left, node.right))
        return f"{type(node.op).__name__} to {of.__name__}" if of and not texts else ""
    if isinstance(node, ast.BoolOp):
        return "and to or" if isinstance(node.op, ast.And) else "or to and"
    if isinstance(node, ast.If):
        return "if to if not"
    if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
        return f"{node.value!r} changed"
    return ""


def _untouched(tree: ast.Module) -> set[int]:
    """Ids of nodes that no mutant changes: annotations, decorators, type-checking blocks, texts."""
    found: set[int] = set()
    for node in ast.walk(tree):
        apart: list[ast.AST | None] = []
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            apart += node.decorator_list
        if isinstance(node, ast.FunctionDef):
            apart.append(node.returns)
        if isinstance(node, (ast.arg, ast.AnnAssign)):
            apart.append(node.annotation)
        if isinstance(node, (ast.JoinedStr, ast.Raise, ast.Assert)):
            apart.append(node)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            apart.append(node)
        for root in apart:
            if root is not None:
                found.update(id(inner) for inner in ast.walk(root))
    return found
