"""Lists on the reference pages what their `:::` lines name: `python -m tools.reference_lists`.

The site fills `:::` lines in by itself, and leaves the lists out. After a line `<!-- every KIND, by
make docs-tables -->` stands a `:::` line for each component of a kind.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from tools.component_table import components_in_code

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs/reference"
START, END = "<!-- list, by make docs-tables -->", "<!-- end of the list -->"
BLOCK = re.compile(rf"{START}\n.*?{END}\n\n", re.DOTALL)
_EVERY = re.compile(r"(<!-- every (\w+), by make docs-tables -->\n)(?:\n::: .+\n)*")
_NAMED = re.compile(r"^::: (\S+)\n((?: +.*\n)*)", re.MULTILINE)
_WIDTH = 100
# Longer signatures end in dots.
_SIGNATURE = 72


def with_lists(page: str) -> str:
    """Returns a page with a list before the first `:::` line of each of its sections."""
    page = _EVERY.sub(lambda found: found[1] + _every(found[2]), BLOCK.sub("", page + "\n"))
    sections = re.split(r"(?m)^(?=## )", page)
    return "".join(map(_with_list, sections))[:-1]


def _every(kind: str) -> str:
    """The `:::` lines of a kind's components, each by the shortest path that is public."""
    classes = dict.fromkeys(each.config for each in components_in_code()[kind].values())
    return "".join(f"\n::: {_public_path(each)}\n" for each in classes)


def _public_path(found: type) -> str:
    package = ".".join(found.__module__.split(".")[:2])
    exported = hasattr(importlib.import_module(package), found.__name__)
    return f"{package if exported else found.__module__}.{found.__name__}"


def _with_list(section: str) -> str:
    found = list(_NAMED.finditer(section))
    if not found:
        return section
    lines = [START, *(line for each in found for line in _entries(each[1], each[2])), END, "", ""]
    return section[: found[0].start()] + "\n".join(lines) + section[found[0].start() :]


def _entries(path: str, options: str) -> Iterator[str]:
    """The entry of a name, or of each member of a module: import path, parameters, first line."""
    members = re.findall(r"^ +- (\w+)$", options, flags=re.MULTILINE)
    file = (ROOT / path.replace(".", "/")).with_suffix(".py")
    if file.is_file() and not members:
        # Read, not imported: it may need a framework.
        for name, signature, about in _written_in(ast.parse(file.read_text(encoding="utf-8"))):
            yield from _entry(f"{path}.{name}{signature}", about)
        return
    for each in [f"{path}.{member}" for member in members] or [path]:
        module, _, name = each.rpartition(".")
        found = getattr(importlib.import_module(module), name)
        if isinstance(found, ModuleType):
            raise TypeError(f"{each} is a module: name its members")
        yield from _entry(each + _shortened(list(_parameters(found))), inspect.getdoc(found) or "")


def _entry(signature: str, about: str) -> list[str]:
    first = " ".join(about.partition("\n\n")[0].split())
    return textwrap.wrap(
        f"- `{signature}`: {first}",
        _WIDTH,
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _parameters(found: object) -> Iterator[str]:
    """Names of the parameters of a function, or of what makes an object of a class."""
    is_error = isinstance(found, type) and issubclass(found, Exception)
    if not callable(found) or getattr(found, "_is_protocol", False) or is_error:
        return
    for parameter in inspect.signature(found).parameters.values():
        yield parameter.name


def _written_in(module: ast.Module) -> Iterator[tuple[str, str, str]]:
    """Name, parameters and docstring of the public functions and classes of a source."""
    for node in module.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            makes: ast.stmt = node
            if isinstance(node, ast.ClassDef):
                inits = (each for each in node.body if getattr(each, "name", "") == "__init__")
                makes = next(inits, node)
            names = []
            if isinstance(makes, ast.FunctionDef):
                given = [*makes.args.posonlyargs, *makes.args.args, *makes.args.kwonlyargs]
                names = [each.arg for each in given if each.arg != "self"]
            yield node.name, _shortened(names), ast.get_docstring(node) or ""


def _shortened(names: list[str]) -> str:
    """`(a, b)`, with dots for the names that do not fit; `""` without names."""
    kept = list(names)
    while len(", ".join(kept)) > _SIGNATURE:
        kept.pop()
    dots = [] if kept == names else ["..."]
    return f"({', '.join([*kept, *dots])})" if names else ""


if __name__ == "__main__":
    for file in sorted(PAGES.glob("*.md")):
        file.write_text(with_lists(file.read_text(encoding="utf-8")), encoding="utf-8")
