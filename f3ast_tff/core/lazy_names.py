"""Public names of a package, imported on first use: a command imports only what it needs."""

from __future__ import annotations

import ast
import importlib
import sys
import warnings
from collections.abc import Callable
from functools import cache
from importlib.util import resolve_name
from typing import Any


def lazy_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Returns `__getattr__` and `__dir__` (PEP 562) of a package.

    The names are those that its `__init__.py` imports under `if TYPE_CHECKING:`, where tools that
    read code find them, too. Names imported as themselves (`import A as A`) are public: `__all__`.

    Args:
        package: The package's `__name__`.
    """

    @cache
    def modules() -> dict[str, tuple[str, bool]]:
        loader: Any = importlib.util.find_spec(package).loader  # type: ignore[union-attr]
        found = {}
        for block in ast.parse(loader.get_source(package)).body:
            for node in block.body if isinstance(block, ast.If) else ():
                if isinstance(node, ast.ImportFrom):
                    module = resolve_name("." * node.level + (node.module or ""), package)
                    found.update({a.name: (module, a.asname == a.name) for a in node.names})
        return found

    def get(name: str) -> Any:
        if name == "__all__":
            return sorted(each for each, (_, is_public) in modules().items() if is_public)
        if name.startswith("__") or name not in modules():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(modules()[name][0]), name)

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules()})

    return get, names


def renamed(module: str, **names: Any) -> Callable[[str], Any]:
    """Returns `__getattr__` of a module for old names, which warn.

    Args:
        module: The module's `__name__`.
        **names: What each old name stands for, a class or function of the module.
    """

    def get(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        now = names[name]
        said = f"{name} is {now.__qualname__} now; the old name goes with the next minor release"
        # The line of the user, also if a package above took the name from here.
        through = sys._getframe(1).f_code.co_filename == __file__
        warnings.warn(said, DeprecationWarning, stacklevel=3 if through else 2)
        return now

    return get
