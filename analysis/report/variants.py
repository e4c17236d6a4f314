"""Sets of runs that fit into one table: their networks and distinguishing settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from f3ast_tff.analysis.compare.scored import varying
from f3ast_tff.analysis.method_names import FORMS
from f3ast_tff.analysis.report.readings import readings, switched
from f3ast_tff.analysis.run_groups import RunGroup, describe, partition, varying_within
from f3ast_tff.analysis.runs import METHOD_NAME
from f3ast_tff.analysis.study_runs import RATES
from f3ast_tff.settings import builtin_registry

PUBLISHED = ""
SMALL = "small networks"
OTHER = "other networks"
# Networks small enough for all of Table III on two cores, with the rounds for a verdict on them.
_SMALL: dict[str, dict[str, object]] = {
    "cifar100": {"model": "small_cnn"},
    "shakespeare": {"model": "character_lstm", "lstm_units": 32},
}
SMALL_ROUNDS = {"cifar100": 500, "shakespeare": 300}


def network_of(group: RunGroup) -> str:
    """Returns `PUBLISHED` for the task's default network, else `SMALL` or `OTHER`.

    A network differs if it is another model, or if a parameter that neither the reading nor the
    task decides differs from its default. Tasks of plug-ins have no published network.
    """
    components = builtin_registry().components
    task = components["task"].get(group.settings["task"])
    if task is None:
        return PUBLISHED
    name = group.settings.get("model", task.config.model)
    model = components["model"].get(name)
    declared = () if model is None else model.parameters
    plain = all(
        group.settings.get(p.name, p.default) == p.default
        for p in declared
        # All other defaults follow from the reading or the task.
        if isinstance(p.default, (int, float, str))
    )
    if name == task.config.model and plain:
        return PUBLISHED
    small = _SMALL.get(group.settings["task"])
    if small is not None and all(group.settings.get(n) == v for n, v in small.items()):
        return SMALL
    return OTHER


def by_network(groups: Iterable[RunGroup]) -> dict[str, list[RunGroup]]:
    """Returns groups by `network_of`, published networks first."""
    found: dict[str, list[RunGroup]] = {}
    for group in groups:
        found.setdefault(network_of(group), []).append(group)
    return {name: found[name] for name in (PUBLISHED, SMALL, OTHER) if name in found}


_CELL = ("algorithm", "task", "availability")


def told_apart(groups: Sequence[RunGroup]) -> dict[RunGroup, dict[str, Any]]:
    """Returns by group the settings that differ between groups of its method.

    An aggregation that is not the algorithm's own is always included, and FedAvg's sampling if it
    is not the preset's.

    If presets differ, readings that follow from the preset are left out: the preset names them. A
    method that the user named is told apart by its name.
    """
    found: dict[RunGroup, dict[str, Any]] = {}
    for members in partition(groups, ["algorithm"]):
        names = _differing(members)
        presets = "reading" in names
        for group in members:
            left_out = set(readings()) - set(switched(group)) if presets else set()
            shown = [n for n in names if group.has(n) and n not in left_out]
            if "aggregation" not in shown and group.first.has_other_aggregation:
                shown.append("aggregation")
            # Which FedAvg it is, wherever that is not the preset's.
            shown += [n for n in FORMS if n in switched(group) and n not in shown]
            found[group] = {name: group.setting(name) for name in shown}
        for name in {g.first.settings.get(METHOD_NAME) for g in members} - {None}:
            named = [g for g in members if g.first.settings.get(METHOD_NAME) == name]
            if not varying(named, {each for g in named for each in g.own}):
                # Its name says what its own settings would.
                for g in named:
                    told = found[g].items()
                    found[g] = {n: v for n, v in told if n not in g.method_settings}
    return {group: found[group] for group in groups}


def _differing(groups: Sequence[RunGroup]) -> list[str]:
    """Names of settings that differ between groups of one cell; the world's come first."""
    names: dict[str, None] = {}
    for members in partition(groups, _CELL):
        every = dict.fromkeys(name for group in members for name in group.settings)
        having = {n: [g for g in members if g.has(n)] for n in every}
        differing = [n for n in every if varying(having[n], [n])]
        if len({repr([g.setting(n) for n in differing]) for g in members}) < len(members):
            # A setting that only some groups have.
            differing = varying(members)
        # Learning rates that only follow from another setting tell nothing apart.
        for rate in RATES:
            fewer = [name for name in differing if name != rate]
            if len(partition(members, fewer)) == len(partition(members, differing)):
                differing = fewer
        names.update(dict.fromkeys(differing))
    return sorted(names, key=lambda name: any(name in group.own for group in groups))


@dataclass(frozen=True, eq=False)
class Variant:
    """Groups of runs that fit into one table: at most one in each cell.

    Attributes:
        settings: Settings that distinguish this variant from other variants of its table.
        common: Settings of `run_groups.CONDITION` that all its groups share.
        groups: The groups.
        network: Network of the runs, see `network_of`.
    """

    settings: dict[str, Any]
    common: dict[str, Any]
    groups: tuple[RunGroup, ...]
    network: str = PUBLISHED

    @property
    def label(self) -> str:
        """The variant in words."""
        named = {**self.common, **self.settings}
        parts = [self.network, describe(named, named)]
        return ", ".join(filter(None, parts)) or "all runs"


def variants(
    groups: Sequence[RunGroup], cell: Sequence[str], named: Sequence[str] = ("reading",)
) -> list[Variant]:
    """Splits groups into the fewest sets of one network with at most one group per cell.

    Algorithms whose own settings do not vary are in every set of the same world. The runs must
    have the readings of a preset; sets are named by the preset. `cell` are the settings that, with
    the algorithm, name a cell of the table; `named` are settings to name always.
    """
    found = [
        replace(variant, network=network)
        for network, members in by_network(groups).items()
        for variant in _of_network(members, cell, named)
    ]
    return sorted(found, key=lambda variant: (variant.network, variant.label))


def _of_network(
    groups: Sequence[RunGroup], cell: Sequence[str], named: Sequence[str]
) -> list[Variant]:
    worlds = _varying(groups, cell, "world")
    if "reading" in worlds:
        worlds = [name for name in worlds if name not in readings()]
    result = []
    for world, members in _split(groups, worlds):
        own = _varying(members, [*cell, "algorithm"], "own")
        chosen: dict[str, list[str]] = {}
        for algorithm in {group.algorithm for group in members}:
            of_it = [group for group in members if group.algorithm == algorithm]
            chosen[algorithm] = [n for n in own if n in _varying(of_it, cell, "own")]
        combinations: dict[tuple[Any, ...], dict[str, Any]] = {}
        for group in members:
            partial = _having(group, group.own, chosen[group.algorithm])
            if partial:
                combinations.setdefault(tuple(partial.items()), partial)
        for partial in combinations.values() or [{}]:
            kept = tuple(
                g
                for g in members
                if _only(partial, chosen[g.algorithm]) == _having(g, g.own, chosen[g.algorithm])
            )
            settings = {**world, **partial}
            shared = kept[0].world
            common = {n: shared[n] for n in named if n not in settings and n in shared}
            result.append(Variant(settings, common, kept))
    return result


def _split(
    groups: Sequence[RunGroup], names: Sequence[str]
) -> list[tuple[dict[str, Any], list[RunGroup]]]:
    """Splits groups by settings; a group without a setting is in the set of each value."""
    having = {group: _having(group, group.world, names) for group in groups}
    distinct = {tuple(settings.items()): settings for settings in having.values()}.values()
    result: dict[tuple[Any, ...], tuple[dict[str, Any], list[RunGroup]]] = {}
    for most in distinct:
        if any(most.items() < other.items() for other in distinct):
            continue
        values = dict(most)
        for name in names:
            if name not in values:
                fitting = [h[name] for h in having.values() if name in h and _agree(h, values)]
                values.update((name, v) for v, _ in Counter(fitting).most_common(1))
        values = _only(values, names)
        members = [g for g in groups if _agree(having[g], values)]
        result.setdefault(tuple(values.items()), (values, members))
    return list(result.values())


def _having(group: RunGroup, settings: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The settings of the components of these runs; `None` for settings not in use."""
    return {name: settings.get(name) for name in names if group.has(name)}


def _only(settings: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: settings[name] for name in names if name in settings}


def _agree(some: Mapping[str, Any], others: Mapping[str, Any]) -> bool:
    return all(some[name] == others[name] for name in some.keys() & others.keys())


def _varying(groups: Sequence[RunGroup], cell: Sequence[str], part: str) -> list[str]:
    """Settings, of the world or of methods, that take several values within one cell."""
    names = dict.fromkeys(n for group in groups for n in getattr(group, part) if n not in cell)
    return varying_within(groups, cell, names)
