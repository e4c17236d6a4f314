"""The settings that tell groups of one method apart, in tables and legends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from f3ast_tff.analysis.report.readings import readings, switched
from f3ast_tff.analysis.run_groups import RunGroup

_CELL = ("algorithm", "task", "availability")


def told_apart(groups: Sequence[RunGroup]) -> dict[RunGroup, dict[str, Any]]:
    """Returns by group the settings that differ between groups of its method.

    Readings that follow from the preset are left out where presets differ: the preset names them.
    """
    found: dict[RunGroup, dict[str, Any]] = {}
    by_method: dict[str, list[RunGroup]] = {}
    for group in groups:
        by_method.setdefault(group.algorithm, []).append(group)
    for members in by_method.values():
        names = _varying(members)
        presets = "reading" in names
        for group in members:
            left_out = set(readings()) - set(switched(group)) if presets else set()
            shown = [n for n in names if group.has(n) and n not in left_out]
            found[group] = {name: group.setting(name) for name in shown}
    return {group: found[group] for group in groups}


def _varying(groups: Sequence[RunGroup]) -> list[str]:
    """Names of settings that differ between groups of one cell; the world's come first."""
    cells: dict[tuple[Any, ...], list[RunGroup]] = {}
    for group in groups:
        cells.setdefault(tuple(map(group.settings.get, _CELL)), []).append(group)
    names: dict[str, None] = {}
    for members in cells.values():
        every = dict.fromkeys(name for group in members for name in group.settings)
        having = {n: [g for g in members if g.has(n)] for n in every}
        differing = [n for n in every if len({repr(g.setting(n)) for g in having[n]}) > 1]
        if len({repr([g.setting(n) for n in differing]) for g in members}) < len(members):
            # Some have a setting that others have not.
            differing = [n for n in every if len({repr(g.setting(n)) for g in members}) > 1]
        names.update(dict.fromkeys(differing))
    return sorted(names, key=lambda name: any(name in group.own for group in groups))
