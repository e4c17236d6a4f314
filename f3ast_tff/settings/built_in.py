"""The components of this package, found by name without importing their modules.

`component_table.json` says which module has a component, and the names of its parameters. It
follows from the code: `make docs-tables` writes it, a test compares both.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from f3ast_tff.settings.component import Component, registered_in
from f3ast_tff.settings.kinds import KINDS

TABLE = Path(__file__).with_name("component_table.json")


@dataclass(frozen=True)
class Listed:
    """A component that is not imported yet.

    Attributes:
        module: Its module, below `f3ast_tff`.
        parameters: Names of its parameters, in their order.
    """

    module: str
    parameters: Sequence[str]


class Components(Mapping[str, Component]):
    """The components of a kind by name, in their order; a module is imported on first use."""

    def __init__(self, kind: str, components: Mapping[str, Component | Listed]) -> None:
        """Takes the kind's name, and its components by name."""
        self._kind = kind
        self._components = dict(components)

    def __getitem__(self, name: str) -> Component:
        found = self._components[name]
        if isinstance(found, Listed):
            module = importlib.import_module(f"f3ast_tff.{found.module}")
            registered = {(c.kind, c.name): c for c in registered_in(module)}
            self._components[name] = found = registered[self._kind, name]
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._components

    def __iter__(self) -> Iterator[str]:
        return iter(self._components)

    def __len__(self) -> int:
        return len(self._components)

    def parameters_of(self, name: str) -> Sequence[str]:
        """Returns the names of a component's parameters, in their order."""
        found = self._components[name]
        if isinstance(found, Listed):
            return found.parameters
        return [parameter.name for parameter in found.parameters]


def listed_components() -> dict[str, Components]:
    """Returns the components of the table, by kind."""
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    return {
        kind: Components(kind, {name: Listed(**entry) for name, entry in table[kind].items()})
        for kind in KINDS
    }


def in_order(components: Sequence[Component]) -> dict[str, Components]:
    """Returns components by kind, in the order of tables."""
    ordered = sorted(components, key=lambda c: (c.order, c.name))
    return {k: Components(k, {c.name: c for c in ordered if c.kind == k}) for k in KINDS}
