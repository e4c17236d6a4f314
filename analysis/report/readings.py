"""Readings of unclear points: their settings, and the form of an experiment that runs have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from f3ast_tff.analysis.compare.scored import varying
from f3ast_tff.analysis.run_groups import RunGroup
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings import Derived, Reading, builtin_registry, parameters_of
from f3ast_tff.settings.groups import GROUPS
from f3ast_tff.settings.kinds import KINDS
from f3ast_tff.settings.resolve import applicable, resolve


@dataclass(frozen=True)
class ReadingSetting:
    """A setting with different values in papers and released code.

    It concerns `algorithms`; if empty, all algorithms.
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


def varied(group: RunGroup, groups: Sequence[RunGroup]) -> bool:
    """Whether runs depart from their preset in a reading that other groups have otherwise."""
    return any(
        len({other.settings[name] for other in groups if name in other.settings}) > 1
        for name in switched(group)
    )


def _preset(group: RunGroup, recorded: Mapping[str, Any]) -> dict[str, Any]:
    """Values of these readings under the preset; as recorded if they cannot be derived here."""
    values = {n: readings()[n].reading.value(group.settings["reading"]) for n in recorded}
    derived = [name for name, value in values.items() if isinstance(value, Derived)]
    if derived:
        # Groups have further entries besides settings: digests of plug-ins and of data.
        of_run = group.first.settings
        given = {n: v for n, v in group.settings.items() if n in of_run and n not in derived}
        try:
            known: Mapping[str, Any] = resolve(given).settings
        except ParameterError:
            # A component of a plug-in, for example.
            known = recorded
        values.update({name: known[name] for name in derived})
    return values


# Settings with values, sorted by name.
Settings = tuple[tuple[str, Any], ...]
_ALWAYS_NAMED = ("task", "availability")


@dataclass(frozen=True)
class Form:
    """Identity of a group among groups that may differ by a reading.

    Attributes:
        place: Settings that comparable runs share: settings of the world except readings, and the
            method's own settings in `departures`. F3AST with another step size is at another place
            than FedAvg.
        preset: Setting `reading`.
        switches: The readings that depart from the preset, with their values.
        algorithm: Name of the algorithm.
    """

    place: Settings
    preset: str
    switches: Settings
    algorithm: str


def forms(groups: Iterable[RunGroup]) -> tuple[dict[Form, RunGroup], list[str]]:
    """Returns the group of each form, and the forms that several groups claim.

    Returns:
        The groups by form, in their order; and a line for each form claimed by several groups, such
        as runs of a plug-in with unknown defaults.
    """
    every: dict[Form, list[RunGroup]] = {}
    for group in groups:
        every.setdefault(_form(group), []).append(group)
    found = {form: members[0] for form, members in every.items() if len(members) == 1}
    several = [_several(form, members) for form, members in every.items() if len(members) > 1]
    return found, several


def departures(group: RunGroup) -> dict[str, Any]:
    """Returns the method's own settings, except readings, that differ from their defaults.

    Defaults follow from task, algorithm and preset. A setting without a known default, such as a
    plug-in's, departs.
    """
    own = {n: v for n, v in group.own.items() if n != "algorithm" and n not in readings()}
    default = _defaults({n: v for n, v in group.settings.items() if n not in own})
    return {n: v for n, v in own.items() if n not in default or default[n] != v}


def switch_text(switches: Settings) -> str:
    """Returns switched readings in words, such as `R1 rate_init: p`."""
    return ", ".join(f"{readings()[n].reading.number} {n}: {value}" for n, value in switches)


def place_text(place: Settings, places: Iterable[Settings]) -> str:
    """Returns a place in words: task, availability, and its distinguishing settings."""
    settings = dict(place)
    always = [f"{settings[name]}" for name in _ALWAYS_NAMED]
    return ", ".join([*always, *told_apart(place, places)])


def told_apart(place: Settings, places: Iterable[Settings]) -> list[str]:
    """Returns the distinguishing settings of a place in words, such as `rounds 300`."""
    settings = dict(place)
    others = [dict(other) for other in places]
    same = [o for o in others if all(o.get(n) == settings.get(n) for n in _ALWAYS_NAMED)]
    return [
        f"{name} {value}".rstrip()
        for name, value in settings.items()
        if name not in _ALWAYS_NAMED
        and (
            any(other.get(name, value) != value for other in others)
            # Within one task and availability, a missing setting is a difference.
            or any(name not in other for other in same)
        )
    ]


def _form(group: RunGroup) -> Form:
    world = {n: v for n, v in group.world.items() if n != "reading" and n not in readings()}
    place = tuple(sorted({**world, **departures(group)}.items()))
    switches = tuple((name, group.settings[name]) for name in switched(group))
    return Form(place, str(group.setting("reading")), switches, group.algorithm)


def _defaults(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Default settings of an experiment; none for a method of a plug-in."""
    registry = builtin_registry()
    if given["algorithm"] not in registry.components["algorithm"]:
        return {}
    # A method's defaults do not follow from components that are unknown here.
    known = {
        name: value
        for name, value in given.items()
        if name not in KINDS or name == "constraint" or value in registry.components[name]
    }
    chosen = {n: v for n, v in known.items() if n in (*KINDS, "availability_parts")}
    try:
        names = applicable(chosen, registry)
        return resolve({n: v for n, v in known.items() if n in names}, registry).settings
    except ParameterError:
        return {}


def _several(form: Form, members: Sequence[RunGroup]) -> str:
    what = [form.algorithm, f"reading {form.preset}", switch_text(form.switches)]
    paths = " and ".join(str(group.first.path) for group in members)
    return (
        f"{', '.join(filter(None, what))}: {paths} are of one form and differ in "
        f"{', '.join(varying(members))}"
    )
