"""All known components: of this package and of plug-ins, from a file, module or entry point.

A component of this package is imported when it is named. Whatever looks at all components, such as
the help and a check of a plug-in's names, imports them all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from importlib import metadata
from types import MappingProxyType

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings.built_in import Components, in_order, listed_components
from f3ast_tff.settings.component import Component, Plugin
from f3ast_tff.settings.kinds import KINDS
from f3ast_tff.settings.parameter import Parameter, one_of

GROUP = "f3ast_tff"
_DATA_FILES = (".csv", ".json", ".npy", ".npz", ".parquet", ".pkl", ".pq")


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

    Installed plug-ins are those that packages name in the entry-point group `f3ast_tff`.

    Args:
        sources: Files or modules, see `plugin_files.load_plugin`.
        reserved: Names that no parameter of a plug-in may have.

    Raises:
        ParameterError: If a plug-in cannot be loaded, or claims a taken name.
    """
    points = sorted(set(metadata.entry_points(group=GROUP)))
    named = [*(point.value.partition(":")[0] for point in points), *sources]
    if not named:
        return builtin_registry()
    from f3ast_tff.settings.plugin_files import load_plugin

    return builtin_registry().with_plugins([load_plugin(each) for each in named], reserved)


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
