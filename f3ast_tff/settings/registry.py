"""All known components, of this package and of plug-ins."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from types import MappingProxyType

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings.component import Component, registered_in
from f3ast_tff.settings.kinds import KINDS
from f3ast_tff.settings.parameter import Parameter, one_of
from f3ast_tff.settings.plugins import Plugin, installed_plugins, load_plugin

_DATA_FILES = (".csv", ".json", ".npy", ".npz", ".parquet", ".pkl", ".pq")


@dataclass(frozen=True)
class Registry:
    """Components by kind and name; an immutable value, which plug-ins extend to a new value.

    Attributes:
        components: Components by kind, then name, in their order.
        plugins: Origins of components from outside this package.
    """

    components: Mapping[str, Mapping[str, Component]]
    plugins: tuple[Plugin, ...] = ()

    @classmethod
    def of(cls, components: Iterable[Component]) -> Registry:
        """Returns the registry of these components, of different names within a kind."""
        by_kind: dict[str, dict[str, Component]] = {kind: {} for kind in KINDS}
        for component in sorted(components, key=lambda c: (c.order, c.name)):
            by_kind[component.kind][component.name] = component
        return cls(MappingProxyType({k: MappingProxyType(v) for k, v in by_kind.items()}))

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

    def takers(self, name: str) -> list[Component]:
        """Returns the components that have a parameter of this name."""
        return [c for c in self.all() if any(p.name == name for p in c.parameters)]

    def parameters(self) -> dict[str, Parameter]:
        """Returns every parameter by name, as declared by the first component that has it."""
        return dict(self._parameters)

    @cached_property
    def _parameters(self) -> dict[str, Parameter]:
        found: dict[str, Parameter] = {}
        for component in self.all():
            for parameter in component.parameters:
                found.setdefault(parameter.name, parameter)
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
    components = []
    for package in dict.fromkeys(f"f3ast_tff.{kind.package}" for kind in KINDS.values()):
        module = importlib.import_module(package)
        for entry in pkgutil.iter_modules(module.__path__):
            if not entry.ispkg and not entry.name.startswith("__"):
                part = importlib.import_module(f"{package}.{entry.name}")
                components += registered_in(part)
    return Registry.of(components)


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
