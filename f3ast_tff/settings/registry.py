"""All known components: of this package and of plug-ins, from a file, module or entry point.

A component of this package is imported when it is named. Whatever looks at all components, such as
the help and a check of a plug-in's names, imports them all.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from importlib import metadata
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files.messages import one_line_of
from f3ast_tff.files.plugin_errors import MARK, is_ctrl_c
from f3ast_tff.settings.built_in import Components, in_order, listed_components
from f3ast_tff.settings.component import Component, registered_in
from f3ast_tff.settings.kinds import KINDS
from f3ast_tff.settings.parameter import Parameter, one_of

GROUP = "f3ast_tff"
# Prefix of modules loaded from files; other processes cannot import them by name.
FILE_MODULE_PREFIX = "f3ast_tff_plugin_"
_DATA_FILES = (".csv", ".json", ".npy", ".npz", ".parquet", ".pkl", ".pq")


@dataclass(frozen=True)
class Plugin:
    """A loaded plug-in.

    Attributes:
        name: The file's stem, or the module's dotted name.
        source: Absolute path or dotted name, also for loading it in another process.
        sha256: Digest of the source: of a file and the modules beside it that it imports, or of
            all modules of the package.
        components: Registered components.
        lasting: Whether the digest is the same in every process; not of an object given in Python
            without an identity.
    """

    name: str
    source: str
    sha256: str
    components: tuple[Component, ...]
    lasting: bool = True


@dataclass(frozen=True)
class Registry:
    """Components by kind and name; an immutable value, which plug-ins extend to a new value.

    Attributes:
        components: Components by kind, then name, in their order.
        plugins: Origins of components from outside this package.
    """

    components: Mapping[str, Components]
    plugins: tuple[Plugin, ...] = ()

    @classmethod
    def of(cls, components: Iterable[Component]) -> Registry:
        """Returns the registry of these components, of different names within a kind."""
        return cls(MappingProxyType(in_order(list(components))))

    def names(self, kind: str) -> tuple[str, ...]:
        """Returns the names of a kind, in their order."""
        return tuple(self.components[kind])

    def find(self, kind: str, name: str) -> Component:
        """Returns a component by name, without regard to case.

        Raises:
            ParameterError: If there is no such component; names the nearest.
        """
        if (hint := KINDS[kind].of_file) and name.lower().endswith(_DATA_FILES):
            raise ParameterError(kind, name, f"is a file's name: give {hint}={name}")
        beside = "; one of a plug-in needs its plugin=FILE" if KINDS[kind].members else ""
        return self.components[kind][
            one_of(kind, value=name, allowed=self.names(kind), beside=beside)
        ]

    def all(self) -> list[Component]:
        """Returns all components, kind by kind."""
        return [c for by_name in self.components.values() for c in by_name.values()]

    def has(self, component: Component) -> bool:
        """Returns whether this is one of the components."""
        of_kind = self.components[component.kind]
        return component.name in of_kind and of_kind[component.name] == component

    def takers(self, name: str) -> list[Component]:
        """Returns the components that have a parameter of this name."""
        return [self.components[kind][owner] for kind, owner in self._owners.get(name, ())]

    @property
    def parameter_names(self) -> Collection[str]:
        """The names of all parameters."""
        return self._owners.keys()

    def parameter(self, name: str) -> Parameter:
        """Returns a parameter by name, as declared by the first component that has it."""
        kind, owner = self._owners[name][0]
        return next(p for p in self.components[kind][owner].parameters if p.name == name)

    def parameters(self) -> dict[str, Parameter]:
        """Returns every parameter by name, as declared by the first component that has it."""
        return {name: self.parameter(name) for name in self._owners}

    @cached_property
    def _owners(self) -> dict[str, list[tuple[str, str]]]:
        """Kind and name of the components that have a parameter, by its name."""
        found: dict[str, list[tuple[str, str]]] = {}
        for kind, components in self.components.items():
            for owner in components:
                for name in components.parameters_of(owner):
                    found.setdefault(name, []).append((kind, owner))
        return found

    def with_plugins(self, plugins: Sequence[Plugin], reserved: Iterable[str] = ()) -> Registry:
        """Returns the registry with further plug-ins, each counted once.

        Args:
            plugins: Plug-ins to add.
            reserved: Names that no parameter may have, besides the kinds.

        Raises:
            ParameterError: If a plug-in claims a taken name.
        """
        known = {plugin.source: plugin for plugin in self.plugins}
        new = [p for p in dict.fromkeys(plugins) if p.source not in known]
        if not new:
            return self
        components = self.all()
        for number, plugin in enumerate(new):
            if any(plugin.name == other.name for other in (*self.plugins, *new[:number])):
                reason = f"another plug-in has the name {plugin.name}"
                raise ParameterError("plugin", plugin.source, reason)
            for component in plugin.components:
                _refuse_taken(plugin, component, others=components, reserved={*KINDS, *reserved})
                components.append(component)
        return replace(Registry.of(components), plugins=(*self.plugins, *new))

    def plugin_of(self, component: Component) -> Plugin | None:
        """Returns the plug-in of a component; `None` for components of this package."""
        return next((p for p in self.plugins if component in p.components), None)


@lru_cache(maxsize=1)
def builtin_registry() -> Registry:
    """Returns the registry of this package's components."""
    return Registry(MappingProxyType(listed_components()))


def registry_with(sources: Iterable[str] = (), reserved: Iterable[str] = ()) -> Registry:
    """Returns the registry of this package, of installed plug-ins and of the named plug-ins.

    Args:
        sources: Files or modules, see `load_plugin`.
        reserved: Names that no parameter of a plug-in may have.

    Raises:
        ParameterError: If a plug-in cannot be loaded, or claims a taken name.
    """
    plugins = [*installed_plugins(), *(load_plugin(source) for source in sources)]
    return builtin_registry().with_plugins(plugins, reserved)


def _refuse_taken(
    plugin: Plugin, component: Component, others: Sequence[Component], reserved: set[str]
) -> None:
    label = f"its {component.kind} {component.name}"
    if any(o.kind == component.kind and o.name == component.name for o in others):
        raise ParameterError("plugin", plugin.source, f"{label}: the name is taken")
    # An object given in Python, whose plug-in has no source, is displayed by its class.
    displayed = [o.display for o in others if o.kind == component.kind]
    if plugin.source and component.display in displayed:
        reason = f"{label}: its display name {component.display} is taken"
        raise ParameterError("plugin", plugin.source, reason)
    for parameter in component.parameters:
        if parameter.name in reserved:
            reason = f"{label}: its parameter {parameter.name}: the name is taken"
            raise ParameterError("plugin", plugin.source, reason)
        for other in others:
            for known in other.parameters:
                if known.name == parameter.name and known.kind is not parameter.kind:
                    reason = (
                        f"{label}: its parameter {parameter.name} is of type "
                        f"{parameter.kind.__name__}, that of {other.kind} {other.name} of type "
                        f"{known.kind.__name__}"
                    )
                    raise ParameterError("plugin", plugin.source, reason)


def load_plugin(source: str) -> Plugin:
    """Loads a plug-in; once per process, unless its source has changed.

    Args:
        source: `FILE.py`, or `package.module`.

    Raises:
        ParameterError: If it is missing, cannot be imported, or registers no component.
    """
    is_file = source.endswith(".py") or "/" in source
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


def installed_plugins() -> list[Plugin]:
    """Loads the plug-ins that installed packages name in the entry-point group `f3ast_tff`."""
    points = metadata.entry_points(group=GROUP)
    return [load_plugin(point.value.partition(":")[0]) for point in sorted(set(points))]


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
