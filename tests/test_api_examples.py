"""Documented names have examples in their docstrings, and the examples of all docstrings run."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import f3ast_tff
from tools.reference_lists import with_lists

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("f3ast_tff", "availability", "datasets", "analysis")
# The site renders the code below `Examples:` as code; it takes `Example:` for a quotation.
HEADING = re.compile(r"^ *Examples:\n( *\n)? +>>> ", flags=re.MULTILINE)
# Errors that a few lines of Python cannot cause, and a base class whose subclass has an example.
WITHOUT = {
    "f3ast_tff.core.errors.CheckpointError",
    "f3ast_tff.core.errors.EngineError",
    "f3ast_tff.core.errors.Interrupted",
    "f3ast_tff.core.errors.PluginError",
    "f3ast_tff.engines.tff.runtime.TffRuntime",
}


# Modules whose examples take seconds.
LONG = {
    "f3ast_tff.advice.page",
    "f3ast_tff.advice.trial",
    "f3ast_tff.audit.audit",
    "f3ast_tff.engines.tff.runtime",
}


def marked(names: Iterable[str]) -> list[Any]:
    """Marks names in `f3ast_tff.engines.tff` with `tff`; without TFF conftest.py skips them."""
    return [
        pytest.param(
            name,
            marks=[
                *([pytest.mark.tff] if ".engines.tff." in name else []),
                *([pytest.mark.long] if name in LONG else []),
            ],
        )
        for name in names
    ]


def listed() -> list[str]:
    """Names on the reference pages; for a module, the members listed there, or its public names."""
    found = []
    for page in sorted((ROOT / "docs/reference").glob("*.md")):
        text = page.read_text()
        for name, options in re.findall(r"^::: (\S+)\n((?: +.*\n)*)", text, flags=re.MULTILINE):
            members = re.findall(r"^ +- (\w+)$", options, flags=re.MULTILINE)
            file = (ROOT / name.replace(".", "/")).with_suffix(".py")
            if file.is_file() and not members:
                members = public_in(file)
            found += [f"{name}.{member}" for member in members] or [name]
    assert len(found) == len(set(found)) and set(found) >= WITHOUT
    return found


def public_in(file: Path) -> list[str]:
    """Public classes and functions of a module, found without importing it."""
    kinds = (ast.ClassDef, ast.FunctionDef)
    nodes = ast.parse(file.read_text()).body
    return [n.name for n in nodes if isinstance(n, kinds) and not n.name.startswith("_")]


def modules_with_examples() -> list[str]:
    """Import paths of the modules whose docstrings have examples."""
    found = set()
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            if ">>>" in path.read_text():
                parts = path.relative_to(ROOT).with_suffix("").parts
                parts = parts if folder == "f3ast_tff" else ("f3ast_tff", *parts)
                found.add(".".join(parts).removesuffix(".__init__"))
    return sorted(found)


def find(name: str) -> Any:
    """Returns the object with this import path."""
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


@pytest.mark.parametrize("name", marked(name for name in listed() if name not in WITHOUT))
def test_a_name_of_the_reference_has_an_example(name: str) -> None:
    """The example shows a result.

    Attributes and methods need none: the class's example uses them.
    """
    text = find(name).__doc__ or ""
    results = [example.want for example in doctest.DocTestParser().get_examples(text)]
    assert HEADING.search(text) and any(results), f"{name} needs `Examples:` with a result"


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs/reference").glob("*.md")), ids=lambda path: path.stem
)
def test_the_reference_says_what_it_names(page: Path) -> None:
    """If not: `make docs-tables`."""
    assert page.read_text() == with_lists(page.read_text())


def test_what_the_package_exports_is_listed() -> None:
    found = [find(name) for name in listed() if ".engines.tff." not in name]
    lacking = [n for n in f3ast_tff.__all__ if all(getattr(f3ast_tff, n) is not o for o in found)]
    assert not lacking


@pytest.mark.filterwarnings("ignore:np.find_common_type:DeprecationWarning")  # SciPy
@pytest.mark.parametrize("name", marked(modules_with_examples()))
def test_examples_of(name: str, cwd: Path, host_by_default: None) -> None:
    """Each example imports all that it uses; it may write files."""
    result = doctest.testmod(importlib.import_module(name), globs={})
    assert result.attempted > 0
    assert result.failed == 0
