"""Writes settings/component_table.json from the code: `python -m tools.component_table`."""

from __future__ import annotations

import importlib
import itertools
import json
import pkgutil
from collections.abc import Mapping
from typing import Any

from f3ast_tff.settings.built_in import TABLE, Components, in_order
from f3ast_tff.settings.component import Component, registered_in
from f3ast_tff.settings.kinds import KINDS


def components_in_code() -> dict[str, Components]:
    """Returns the components that the modules of this package register; imports them all."""
    found: list[Component] = []
    for package in dict.fromkeys(f"f3ast_tff.{kind.package}" for kind in KINDS.values()):
        for entry in pkgutil.iter_modules(importlib.import_module(package).__path__):
            if not entry.ispkg and not entry.name.startswith("__"):
                found += registered_in(importlib.import_module(f"{package}.{entry.name}"))
    return in_order(found)


def refuse_orders_twice(components: Mapping[str, Components]) -> None:
    """Refuses two components of a kind with one `order`; says the next free number."""
    for kind, by_name in components.items():
        ordered = [each for each in by_name.values() if each.order < Component.order]
        for one, other in itertools.pairwise(ordered):
            if one.order == other.order:
                free = f"the next free one is {ordered[-1].order + 1}"
                raise SystemExit(f"{kind} {one.name}, {other.name}: both order={one.order}; {free}")


def table_of(components: Mapping[str, Components]) -> str:
    """Returns the text of the table: one line a component."""
    kinds = []
    for kind, by_name in components.items():
        lines = []
        for name, component in by_name.items():
            entry: dict[str, Any] = {
                "module": component.config.__module__.removeprefix("f3ast_tff."),
                "parameters": list(by_name.parameters_of(name)),
            }
            lines.append(f'"{name}": {json.dumps(entry)}')
        kinds.append(f'"{kind}": {{\n' + ",\n".join(lines) + "\n}")
    return "{\n" + ",\n".join(kinds) + "\n}\n"


if __name__ == "__main__":
    found = components_in_code()
    refuse_orders_twice(found)
    TABLE.write_text(table_of(found), encoding="utf-8")
