"""The head of the report: its title and date, and the picture of who waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from f3ast_tff.analysis.compare.scored import varying
from f3ast_tff.analysis.line_styles import labelled, looks_of
from f3ast_tff.analysis.presence import WAITS, by_presence, presence_figure
from f3ast_tff.analysis.report.document import Picture
from f3ast_tff.analysis.report.variants import told_apart
from f3ast_tff.analysis.run_groups import CONDITION, RunGroup, in_order
from f3ast_tff.records.left_out import held
from f3ast_tff.records.outputs import masks_there

# Largest numbers of names in a title, and of methods in the picture.
_NAMES, _METHODS = 4, 4
# Largest number of clients named that a method leaves out.
_CLIENTS = 4


def title_of(groups: Sequence[RunGroup], of_papers: bool) -> str:
    """Returns the question of a report, with its task and availability."""
    if not groups:
        return "Report"
    kinds = (("task", "tasks"), ("availability", "kinds of availability"))
    where = ", ".join(_named(groups, kind, several) for kind, several in kinds)
    if of_papers:
        return f"Do the papers' claims hold? {where}"
    told = told_apart(groups)
    methods = list(dict.fromkeys(labelled(group, told[group]) for group in groups))
    if len(methods) == 1:
        return f"{methods[0]}: {where}"
    if len(methods) > _NAMES:
        return f"Which of {len(methods)} methods is better? {where}"
    *first, last = (name.replace(", ", " (", 1) + ")" * (", " in name) for name in methods)
    return f"{', '.join(first)} or {last}: which is better? {where}"


def _named(groups: Sequence[RunGroup], kind: str, several: str) -> str:
    displays = {group.settings[kind]: group.first.display(kind) for group in groups}
    names = [displays[name] for name in in_order(groups, kind)]
    return ", ".join(names) if len(names) <= _NAMES else f"{len(names)} {several}"


def date_of(groups: Sequence[RunGroup]) -> str:
    """Returns the day on which the last run finished (UTC), such as `3 June 2026`."""
    paths = [run.path / "summary.json" for group in groups for run in group.runs.values()]
    times = [path.stat().st_mtime for path in paths if path.exists()]
    if not times:
        return ""
    day = datetime.fromtimestamp(max(times), tz=UTC)
    return f"{day.day} {day:%B %Y}"


def clients_left_out(groups: Sequence[RunGroup]) -> list[str]:
    """Returns a line per method about clients that it leaves out most of the time."""
    told = told_apart(groups)
    lines = []
    for group in groups:
        found = [(run.summary or {}).get("left_out", []) for run in group.runs.values()]
        if text := _usually(found):
            lines.append(f"{labelled(group, told[group])}: {text}.")
    return list(dict.fromkeys(lines))


def _usually(runs: Sequence[Sequence[Mapping[str, Any]]]) -> str:
    """Clients left out in most of the runs, with what they hold in the first that says it."""
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    for client in (client for run in runs for client in run):
        by_name.setdefault(client["client"], []).append(client)
    usual = {name: found for name, found in by_name.items() if 2 * len(found) > len(runs)}
    of = "" if len(runs) == 1 else f" of {len(runs)} runs; "
    said = [
        f"{name} ({len(found) if of else ''}{of}{', '.join(held(found[0]))})"
        for name, found in [*usual.items()][:_CLIENTS]
    ]
    rest = len(usual) - len(said)
    return ", ".join([*said, *([f"{rest} more"] if rest else [])])


def who_waits(groups: Sequence[RunGroup]) -> list[Picture]:
    """Draws accuracy by how often clients are there, if all runs have it and kept what it needs.

    The runs must share their condition and be of two to four methods.

    Raises:
        RunsError: If a file is damaged.
    """
    runs = [run for group in groups for run in group.runs.values()]
    kept = all(run.settings.get("client_scores") and masks_there(run.path) for run in runs)
    if (
        not kept
        or any("accuracy" not in run.directions for run in runs)
        or not 2 <= len(groups) <= _METHODS
        or varying(groups, CONDITION)
    ):
        return []
    told = told_apart(groups)
    looks = looks_of(groups, told)
    colours = {labelled(group, told[group]): looks[group].color for group in groups}
    found = {
        labelled(group, told[group]): by_presence([run.path for run in group.runs.values()])
        for group in groups
    }
    if len(found) < len(groups):
        return []
    # The first stands out.
    order = sorted(found, key=lambda name: -found[name].rarest[:, -1].mean())
    methods = {name: found[name] for name in order}
    fewest = min(len(each.accuracy) for each in found.values())
    over = f"means over {fewest} runs with 95% intervals" if fewest > 1 else "of one run"
    caption = (
        "Left: accuracy, over the rounds, of the fifth of the clients that is there least. Right: "
        f"of all fifths, early and at the end; {over}."
    )
    figure = presence_figure(methods, WAITS, [colours[name] for name in order])
    return [Picture("presence", caption, figure, wide=True)]
