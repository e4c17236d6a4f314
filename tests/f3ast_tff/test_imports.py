"""Imports between modules: no cycle, one use of absl, engines that do not know each other."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import f3ast_tff
from f3ast_tff.settings import builtin_registry
from tests import sources

PACKAGE = Path(f3ast_tff.__file__).parent


def modules() -> dict[str, Path]:
    """Each module of the package, by its dotted name."""
    found = {}
    folders = [PACKAGE]
    while folders:
        folder = folders.pop()
        for path in sorted(folder.iterdir()):
            if path.is_dir() and (path / "__init__.py").exists():
                folders.append(path)
            elif path.suffix == ".py":
                parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
                name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
                found[name] = path
    return found


MODULES = modules()


@functools.cache
def imports(name: str) -> frozenset[str]:
    """Dotted names that a module imports, also inside functions and for types only."""
    return frozenset(_imports(name))


def _imports(name: str) -> Iterator[str]:
    path = MODULES[name]
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in sources.imports(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *([base] if base else [])])
            inside = [f"{base}.{alias.name}" for alias in node.names]
            modules_in_it = [target for target in inside if target in MODULES]
            yield from modules_in_it
            if len(modules_in_it) < len(inside):
                yield base


def graph() -> dict[str, set[str]]:
    return {name: set(imports(name) & MODULES.keys() - {name}) for name in MODULES}


def test_no_import_cycle() -> None:
    """Modules without remaining imports are removed repeatedly; the rest is in a cycle."""
    left = graph()
    while True:
        leaves = {name for name, targets in left.items() if not targets & left.keys()}
        if not leaves:
            break
        left = {name: targets for name, targets in left.items() if name not in leaves}
    in_cycle = {name: sorted(targets & left.keys()) for name, targets in left.items()}
    assert not in_cycle, f"each of these imports the next, round and round: {in_cycle}"


def test_only_flags_use_absl() -> None:
    for name in MODULES:
        if name != "f3ast_tff.settings.flags":
            assert not any(target.partition(".")[0] == "absl" for target in imports(name)), name


def test_engines_do_not_know_each_other() -> None:
    """The fused engine never imports TensorFlow, and the TFF engine never imports JAX."""
    for name in MODULES:
        used = {target.partition(".")[0] for target in imports(name)}
        if name.startswith("f3ast_tff.engines.jax"):
            assert not used & {"tensorflow", "tensorflow_federated"}, name
        if name.startswith("f3ast_tff.engines.tff"):
            assert not used & {"jax", "optax"}, name


@functools.cache
def callers() -> dict[str, set[str]]:
    """For each name of a method or function, the modules that call it."""
    found: dict[str, set[str]] = {}
    for module in MODULES:
        for node in sources.nodes(MODULES[module]):
            if isinstance(node, ast.Call) and isinstance(node.func, (ast.Attribute, ast.Name)):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
                found.setdefault(name, set()).add(module)
    return found


def test_the_rules_of_a_round_stand_once_for_engines_on_the_host() -> None:
    assert callers()["after_training"] == {"f3ast_tff.engines.host.round"}
    assert callers()["weighted_sum"] == {"f3ast_tff.engines.host.round"}


def test_an_engine_plays_rounds_in_one_place() -> None:
    """Late, stacked and split rounds of an engine differ in one round, not in their loop."""
    playing = {
        module
        for module, path in MODULES.items()
        if module.startswith("f3ast_tff.engines.") and "    def run_rounds(" in path.read_text()
    }
    engines = {f"f3ast_tff.engines.{name}.engine" for name in ("host", "jax", "tff")}
    assert playing == {"f3ast_tff.engines.engine", *engines}


def test_no_list_of_components_is_kept_by_hand() -> None:
    """Three names or more come from the registry; the papers' tables and studies name their own."""
    kinds = ("algorithm", "aggregation", "availability", "constraint", "delivery", "attack")
    names = {name for kind in kinds for name in builtin_registry().names(kind)}
    by_hand = {
        module
        for module in MODULES
        for node in sources.nodes(MODULES[module])
        if len(_texts(node) & names) >= 3 and _texts(node) <= names and ".studies." not in module
    }
    # The rows of published tables, and the plain baselines of the leaderboard.
    assert by_hand == {
        f"f3ast_tff.analysis.{name}" for name in ("report.published_tables", "leaderboard.tables")
    }


def _texts(node: ast.AST) -> set[str]:
    """The elements of a literal, if all are texts."""
    parts: list[Any] = []
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        parts = node.elts
    elif isinstance(node, ast.Dict):
        parts = node.keys
    texts = [part.value for part in parts if isinstance(part, ast.Constant)]
    return (
        {*texts} if len(texts) == len(parts) and all(isinstance(t, str) for t in texts) else set()
    )
