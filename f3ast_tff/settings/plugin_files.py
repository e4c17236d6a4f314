"""Plug-ins from files, modules and installed packages: imported, and told apart by a digest."""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterable
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files.messages import one_line_of
from f3ast_tff.files.plugin_errors import MARK, is_ctrl_c
from f3ast_tff.settings.component import Plugin, registered_in

# Prefix of modules loaded from files; other processes cannot import them by name.
FILE_MODULE_PREFIX = "f3ast_tff_plugin_"


def load_plugin(source: str) -> Plugin:
    """Loads a plug-in; once per process, unless its source has changed.

    Args:
        source: `FILE.py`, or `package.module`.

    Raises:
        ParameterError: If it is missing, cannot be imported, or registers no component.
    """
    is_file = source.endswith(".py") or "/" in source or os.path.isfile(source)
    try:
        # The plug-in may replace the streams and change the folder; afterwards this process has its
        # own again.
        with redirect_stdout(sys.stdout), redirect_stderr(sys.stderr), chdir(os.curdir):
            if is_file:
                path = Path(os.path.expanduser(source)).resolve()
                if not path.is_file():
                    raise ParameterError("plugin", source, "not found")
                if path.suffix != ".py":
                    raise ParameterError("plugin", source, "must be a Python file")
                content = path.read_bytes()
                beside = _imported_beside(path, content)
                digest = _digest(path.parent, beside, hashlib.sha256(content))
                name, place, module = path.stem, str(path), _import_file(path, content, digest)
            else:
                module = importlib.import_module(source)
                name, place, digest = source, source, _digest_of_package(module)
        modules = _modules(module)
        components = tuple(component for part in modules for component in registered_in(part))
    except ParameterError:
        raise
    # Any error of foreign code during import is reported in one line.
    except BaseException as error:
        if is_ctrl_c(error):
            raise
        reason = f"cannot be imported: {one_line_of(error)}"
        raise ParameterError("plugin", source, reason) from error
    for part in modules:
        setattr(part, MARK, name)
    if not components:
        raise ParameterError("plugin", source, "registers no component")
    return Plugin(name, source=place, sha256=digest, components=components)


def _import_file(path: Path, content: bytes, digest: str) -> ModuleType:
    name = f"{FILE_MODULE_PREFIX}{path.stem}_{digest[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    # Before the code runs, because dataclasses look up their module.
    sys.modules[name] = module
    # Modules beside it are found last, so that none hides a library's.
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    try:
        # Not the loader's code: a compiled file of the same second and size may be older.
        code = compile(content, str(path), "exec", dont_inherit=True)
        exec(code, module.__dict__)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _modules(module: ModuleType) -> list[ModuleType]:
    """The module; for a package also the imported modules below it."""
    below = f"{module.__name__}."
    names = sorted(name for name in sys.modules if name.startswith(below))
    return [module, *(sys.modules[name] for name in names)]


def _imported_beside(path: Path, content: bytes) -> list[Path]:
    """The modules and packages of a file's folder that its code imports, recursively."""
    found: set[Path] = set()
    left = [(path, content)]
    while left:
        file, source = left.pop()
        for node in ast.walk(ast.parse(source, str(file))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            for top in {name.partition(".")[0] for name in names} - {"f3ast_tff"}:
                module = path.parent / f"{top}.py"
                files = {module} if module.is_file() else set((path.parent / top).rglob("*.py"))
                left += [(each, each.read_bytes()) for each in files - found - {path}]
                found |= files - {path}
    return sorted(found)


def _digest_of_package(module: ModuleType) -> str:
    """The digest of a module's package, or of the module."""
    package = sys.modules[module.__name__.partition(".")[0]]
    file = Path(package.__file__ or module.__file__ or "")
    if not file.name:
        raise ParameterError("plugin", module.__name__, "has no source file")
    files = sorted(file.parent.rglob("*.py")) if file.name == "__init__.py" else [file]
    return _digest(file.parent, files, hashlib.sha256())


def _digest(folder: Path, files: Iterable[Path], digest: Any) -> str:
    """Adds files, their places in a folder and their contents, to a digest."""
    for file in files:
        digest.update(file.relative_to(folder).as_posix().encode() + b"\0")
        digest.update(file.read_bytes() + b"\0")
    return str(digest.hexdigest())
