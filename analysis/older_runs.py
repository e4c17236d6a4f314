"""Run folders of older versions, whose `config.json` says nothing of components."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from f3ast_tff.components import Derived, Parameter, builtin_registry, parameters_of
from f3ast_tff.components.component import KINDS, OWN_KINDS
from f3ast_tff.configuration.groups import GROUPS
from f3ast_tff.configuration.resolve import applicable, resolve
from f3ast_tff.errors import ParameterError


def translated(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings as this version names them, without those of components not chosen."""
    found = dict(settings)
    if found.pop("f3ast_rule", None) == "ca_fed" and found.get("algorithm") == "f3ast":
        found["algorithm"] = "f3ast_of_ca_fed"
    for name in ("availability", "availability_parts"):
        if isinstance(found.get(name), str):
            parts = found[name].split(",")
            found[name] = ",".join("four_classes" if p == "markov" else p for p in parts)
    if found.get("tff_runtime") == "ray":
        found["tff_runtime"] = "tf"
    algorithm = builtin_registry().components["algorithm"].get(found.get("algorithm", ""))
    if algorithm is not None:
        found.setdefault("aggregation", algorithm.config.aggregation)
    chosen = tuple((n, found[n]) for n in (*KINDS, "availability_parts") if n in found)
    left_out, derived = _not_applicable(chosen)
    found = {name: value for name, value in found.items() if name not in left_out}
    missing = [name for name in derived if name not in found]
    if missing:
        try:
            resolved = resolve(found).settings
        except ParameterError:
            return found
        found.update({name: resolved[name] for name in missing})
    return found


@lru_cache(maxsize=1)
def own_settings() -> frozenset[str]:
    """Returns what methods may differ in, by the components of this version."""
    own = {*OWN_KINDS}
    for component in builtin_registry().all():
        of_kind = component.kind in OWN_KINDS
        own |= {p.name for p in component.parameters if (of_kind if p.own is None else p.own)}
    return frozenset(own | {p.name for p in _of_groups() if p.own})


@lru_cache(maxsize=1)
def not_compared() -> frozenset[str]:
    """Returns the settings that decide no result, by the components of this version.

    Of a file that a run reads an older run says the place alone, which therefore counts.
    """
    every = [*_of_groups(), *(p for c in builtin_registry().all() for p in c.parameters)]
    return frozenset(p.name for p in every if not p.decides_result and not p.is_input)


@cache
def _not_applicable(chosen: tuple[tuple[str, Any], ...]) -> tuple[frozenset[str], frozenset[str]]:
    """Settings that an experiment of these components does not have; methods' own that follow."""
    registry = builtin_registry()
    every = registry.parameters()
    try:
        names = applicable(dict(chosen), registry)
    except ParameterError:
        return frozenset(), frozenset()
    derived = {n for n, p in every.items() if isinstance(p.default, Derived)}
    return frozenset(every) - names, own_settings() & derived & names


def _of_groups() -> list[Parameter]:
    return [p for group in GROUPS.values() for p in parameters_of(group)]
