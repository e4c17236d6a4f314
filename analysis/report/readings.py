"""Readings of unclear points: which settings they are, and which runs depart from their preset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from f3ast_tff.analysis.run_groups import RunGroup
from f3ast_tff.components import Derived, Reading, builtin_registry, parameters_of
from f3ast_tff.configuration.groups import GROUPS
from f3ast_tff.configuration.resolve import resolve
from f3ast_tff.errors import ParameterError


@dataclass(frozen=True)
class ReadingSetting:
    """A setting that papers and released code leave at different values.

    Attributes:
        reading: Its number, and its value under each preset.
        algorithms: Those that it concerns; empty for all.
    """

    reading: Reading
    algorithms: tuple[str, ...]

    def concerns(self, algorithm: str) -> bool:
        """Whether runs of an algorithm depend on it."""
        return not self.algorithms or algorithm in self.algorithms


@lru_cache(maxsize=1)
def readings() -> Mapping[str, ReadingSetting]:
    """Returns the readings by setting, in the order of their numbers."""
    found = {
        p.name: ReadingSetting(p.default, ())
        for group in GROUPS.values()
        for p in parameters_of(group)
        if isinstance(p.default, Reading)
    }
    registry = builtin_registry()
    for name, parameter in registry.parameters().items():
        if isinstance(parameter.default, Reading):
            takers = registry.takers(name)
            own = all(taker.kind == "algorithm" for taker in takers)
            names = tuple(taker.name for taker in takers) if own else ()
            found[name] = ReadingSetting(parameter.default, names)
    ordered = sorted(found, key=lambda name: int(found[name].reading.number[1:]))
    return MappingProxyType({name: found[name] for name in ordered})


def switched(group: RunGroup) -> tuple[str, ...]:
    """Returns the readings in which runs depart from their preset."""
    recorded = {n: group.settings[n] for n in readings() if n in group.settings}
    preset = _preset(group, recorded)
    return tuple(name for name, value in recorded.items() if value != preset[name])


def _preset(group: RunGroup, recorded: Mapping[str, Any]) -> dict[str, Any]:
    """What the preset sets these readings to; what cannot be derived here is as recorded."""
    values = {n: readings()[n].reading.value(group.settings["reading"]) for n in recorded}
    derived = [name for name, value in values.items() if isinstance(value, Derived)]
    if derived:
        # Groups have names beside settings: digests of plug-ins and of data.
        of_run = group.first.settings
        given = {n: v for n, v in group.settings.items() if n in of_run and n not in derived}
        try:
            known: Mapping[str, Any] = resolve(given).settings
        except ParameterError:
            # A component of a plug-in, for example.
            known = recorded
        values.update({name: known[name] for name in derived})
    return values
