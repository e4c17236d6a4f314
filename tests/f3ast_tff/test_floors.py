"""The floors of the package: an import points down, or sideways within its floor."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests import sources

ROOT = Path(__file__).parent.parent.parent
# From the ground up. A name is a folder or a file of `f3ast_tff`, or a folder of the checkout.
FLOORS = (
    ("core",),
    ("files",),
    ("settings",),
    ("datasets", "models", "optimizers", "availability", "rate_region"),
    ("methods", "delivery"),
    ("attacks", "scores"),
    ("engines",),
    ("records",),
    ("run",),
    ("campaigns", "analysis"),
    ("advice", "audit", "conformance", "leaderboard", "flower", "pfl", "simulation", "comparison"),
    # The public names.
    ("f3ast_tff",),
    ("cli",),
    ("studies", "tools", "benchmarks", "examples"),
    ("tests",),
)
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
# Folders of the checkout that are also links in `f3ast_tff`.
LINKED = ("analysis", "availability", "datasets")
TOP = (*LINKED, "f3ast_tff", "tools", "benchmarks", "examples")


def room(name: str) -> str | None:
    """The room of a dotted name; `None` for names of other packages."""
    first, *rest = name.split(".")
    if first == "f3ast_tff":
        first, *rest = rest or [first]
    if first in ("__main__", "run_experiments"):
        return "cli"
    if first == "analysis" and rest[:1] in (["leaderboard"], ["studies"]):
        return rest[0]
    if name.split(".")[0] == "f3ast_tff" and first not in FLOOR:
        return "f3ast_tff"
    return first if first in FLOOR else None


def modules() -> Iterator[tuple[str, Path]]:
    """Each file by its dotted name, once: folders that are links are left out."""
    yield "run_experiments", ROOT / "run_experiments.py"
    for top in TOP:
        for path in sorted((ROOT / top).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            if not any((ROOT / Path(*parts[:i])).is_symlink() for i in range(1, len(parts))):
                yield ".".join(part for part in parts if part != "__init__"), path


def imported(name: str, path: Path) -> Iterator[str]:
    """Dotted names that a file imports, also inside functions and for types only."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in sources.imports(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*(above if node.level else []), *filter(None, [node.module])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def upward(name: str, path: Path) -> list[str]:
    """Imports of a file that point up."""
    own = room(name)
    assert own is not None, f"{name} is on no floor"
    rooms = {target: room(target) for target in imported(name, path)}
    return [t for t, other in rooms.items() if other and FLOOR[other] > FLOOR[own]]


def test_no_import_points_up() -> None:
    found = {name: up for name, path in modules() if (up := upward(name, path))}
    assert not found


def test_imports_that_point_up_are_seen(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text(
        "from __future__ import annotations\n"
        "from typing import TYPE_CHECKING\n"
        "from f3ast_tff.core.errors import ParameterError\n"
        "if TYPE_CHECKING:\n"
        "    from f3ast_tff.run.build import Builder\n"
        "def late():\n"
        "    from ..methods import f3ast\n"
        "    import tests.conftest\n"
        "    from f3ast_tff import simulate\n"
    )
    assert upward("f3ast_tff.settings.module", file) == [
        "f3ast_tff.run.build.Builder",
        "f3ast_tff.methods.f3ast",
        "tests.conftest",
        "f3ast_tff.simulate",
    ]
    assert upward("tests.module", file) == []


def test_every_folder_is_on_a_floor() -> None:
    parts = {room(name) for name, _ in modules()}
    assert None not in parts
    assert {"core", "availability", "cli", "benchmarks", "leaderboard", "studies"} <= parts
