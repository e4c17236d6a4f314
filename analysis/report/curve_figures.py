"""Which curves share a figure: all of a task, or a sweep of a setting, or one set of runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from f3ast_tff.analysis.report import figures
from f3ast_tff.analysis.report.document import Picture
from f3ast_tff.analysis.report.networks import by_network
from f3ast_tff.analysis.report.told_apart import told_apart
from f3ast_tff.analysis.report.variants import variants
from f3ast_tff.analysis.run_groups import RunGroup

NAMED = ("reading", "clients_per_round", "communication", "rounds")
# More lines in one panel cannot be told apart.
_MOST_LINES = 12
_FEWEST_VALUES = 3
Told = Mapping[RunGroup, Mapping[str, Any]]


def curve_figures(task: str, groups: Sequence[RunGroup], free: Sequence[str] = ()) -> list[Picture]:
    """Returns the learning curves of a task.

    All lines of an availability model share a panel where they are few. Where they are many, each
    setting of which a method has at least three values, all else equal, has a figure with a panel
    for all values, and each set of runs that may be compared one with a line a method.

    Args:
        task: Its name.
        groups: Its runs.
        free: Settings that methods may differ in here, beside their own.
    """
    found = []
    for network, members in by_network(groups).items():
        told = told_apart(members)
        display = ", ".join(filter(None, (members[0].first.display("task"), network)))
        name = "_".join(["curves", task, *network.split()])
        lines = Counter(group.settings["availability"] for group in members)
        if max(lines.values()) <= _MOST_LINES:
            found.append(figures.curves(f"{name}_1", display, members, told))
        else:
            found += _several(name, display, members, told, free)
    return found


def _several(
    name: str, display: str, groups: Sequence[RunGroup], told: Told, free: Sequence[str]
) -> list[Picture]:
    found, swept = [], set()
    for setting, members in sweeps(groups, told).items():
        swept.update(members)
        only = {group: {setting: group.setting(setting)} for group in members}
        said = f"{display}, sweep of {setting}"
        if len({(g.algorithm, g.setting(setting)) for g in members}) <= _MOST_LINES:
            found.append(figures.curves(f"{name}_{setting}", said, members, only))
            continue
        for method in dict.fromkeys(group.algorithm for group in members):
            own = [group for group in members if group.algorithm == method]
            what = f"{said}, {own[0].display}"
            found.append(figures.curves(f"{name}_{setting}_{method}", what, own, only))
    sets = variants([group.with_own(free) for group in groups], ("task", "availability"), NAMED)
    largest = max(len(variant.groups) for variant in sets)
    drawn = {id(group.first) for group in swept}
    for number, variant in enumerate(sets, start=1):
        again = all(id(group.first) in drawn for group in variant.groups)
        if not again or len(variant.groups) == largest:
            what = f"{display}, {variant.label}"
            found.append(figures.curves(f"{name}_{number}", what, variant.groups))
    return found


def sweeps(groups: Sequence[RunGroup], told: Told) -> dict[str, list[RunGroup]]:
    """Returns groups that differ in one setting alone, by that setting.

    Args:
        groups: Of one task.
        told: Of `told_apart`.

    Returns:
        For each method and availability model the largest such set, if it has three values.
    """
    found: dict[str, list[RunGroup]] = {}
    for setting in dict.fromkeys(name for each in told.values() for name in each):
        sets: dict[tuple[Any, ...], dict[str, list[RunGroup]]] = {}
        for group in groups:
            if group.setting(setting) is not None:
                rest = {n: v for n, v in group.settings.items() if n != setting}
                cell = (group.algorithm, group.settings["availability"])
                sets.setdefault(cell, {}).setdefault(repr(sorted(rest.items())), []).append(group)
        for of_cell in sets.values():
            largest = max(of_cell.values(), key=len)
            if len(largest) >= _FEWEST_VALUES:
                found.setdefault(setting, []).extend(largest)
    return found
