"""Figures of scores: learning curves and sweeps of a task, and accuracy against K."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from f3ast_tff.analysis.curves import (
    X_AXES,
    Trace,
    add_legend,
    draw_panel,
    has_clock,
    legend_columns,
    plain,
)
from f3ast_tff.analysis.line_styles import literal, looks_of, styles_of
from f3ast_tff.analysis.report.claims import FilledTable
from f3ast_tff.analysis.report.document import Panel, Picture
from f3ast_tff.analysis.report.variants import by_network, told_apart, variants
from f3ast_tff.analysis.run_groups import RunGroup, in_order
from f3ast_tff.analysis.score_directions import scores_in
from f3ast_tff.analysis.texts import counted, file_stem, over, scored_on

DPI = 100
# Widths of a figure and its panels, in inches: two figures side by side on a page, one on a phone.
WIDTH, PANEL_WIDTH = 4.95, 4.0
# Ratio of values beyond which a loss is drawn on a log scale.
_WIDE = 30.0


def new_figure(
    rows: int,
    columns: int,
    panel: tuple[float, float],
    legend_rows: int = 1,
    sharex: bool = False,
    sharey: bool = False,
    title_lines: int = 1,
) -> tuple[Figure, np.ndarray]:
    """Returns a figure and its panels, placed by hand: automatic layout takes seconds.

    A panel's width and height are in inches; `legend_rows` is the space for a legend below,
    `title_lines` for a panel's title. Panels that share an axis have no labels in between.
    """
    titles = 0.13 * (title_lines - 1)
    left, right, top, bottom = 0.8, 0.15, 0.35 + titles, 0.6 + 0.24 * legend_rows
    gap_x = 0.2 if sharey else 0.8
    gap_y = titles + (0.4 if sharex else 0.8)
    width = left + columns * panel[0] + (columns - 1) * gap_x + right
    height = top + rows * panel[1] + (rows - 1) * gap_y + bottom
    figure = Figure((width, height), dpi=DPI)
    panels = figure.subplots(rows, columns, squeeze=False, sharex=sharex, sharey=sharey)
    figure.subplots_adjust(
        left=left / width,
        right=1 - right / width,
        top=1 - top / height,
        bottom=bottom / height,
        wspace=gap_x / panel[0],
        hspace=gap_y / panel[1],
    )
    return figure, panels


def curves(
    name: str,
    what: str,
    groups: Sequence[RunGroup],
    told: Mapping[RunGroup, Mapping[str, Any]] | None = None,
) -> list[Picture]:
    """Draws the scores of samples against the round, a panel for each availability model of a task.

    If all runs have a clock, it also draws the first score against simulated time. `what` is the
    subject of the caption, `told` the settings that distinguish groups of one method.
    """
    rows = in_order(groups, "availability")
    looks = looks_of(groups, told)
    labels = list(dict.fromkeys(look.label for look in looks.values()))
    legend_rows = -(-len(labels) // legend_columns(labels, WIDTH))
    scores = [n for n in scores_in(groups) if n.startswith("sample_")]
    scores = [n for n in scores if all(n in group.score_names for group in groups)]
    labels_of = {name: name.replace("_", " ") for name in scores}
    shown = [(name, label, "rounds") for name, label in labels_of.items()]
    if all(map(has_clock, groups)):
        shown.append((scores[0], labels_of[scores[0]], "simulated_seconds"))
    over = f"mean of {counted(group.runs for group in groups)}, band one standard deviation"
    found: list[Picture] = []
    for column, label, x in shown:
        figure, panels = new_figure(
            len(rows), columns=1, panel=(PANEL_WIDTH, 2.1), legend_rows=legend_rows, sharex=True
        )
        drawn = []
        for panel, availability in zip(panels.flat, rows):
            members = [g for g in looks if g.settings["availability"] == availability]
            traces = draw_panel(panel, members, column, looks, x)
            panel.set_ylabel(label)
            title = literal(members[0].first.display("availability"))
            panel.set_title(title, fontsize="medium", y=1.0)
            _widen(panel, traces)
            drawn.append((panel, traces))
        panels[-1, 0].set_xlabel(X_AXES[x])
        add_legend(figure, looks.values(), "lower center")
        on = scored_on(groups)
        caption = f"{what}: {label} on {on} against the {X_AXES[x]}; {over} over them."
        # Panels share their limits, which are final only after the last panel.
        boxes = tuple(to_show(panel, X_AXES[x], traces) for panel, traces in drawn)
        of_score = column.removeprefix("sample")
        more = "" if not found else "_time" if x != "rounds" else of_score
        found.append(Picture(file_stem(f"{name}{more}"), caption, figure, boxes))
    return found


def _widen(panel: Axes, traces: Sequence[Trace]) -> None:
    """Gives losses that lie far apart a logarithmic axis."""
    values = np.concatenate([trace.y for trace in traces])
    values = values[np.isfinite(values) & (values > 0)]
    of_loss = panel.get_ylabel().endswith("loss")
    if of_loss and len(values) and np.ptp(np.log(values)) > math.log(_WIDE):
        panel.set_yscale("log")
        # A band of mean - deviation may reach below 0.
        panel.set_ylim(bottom=float(values.min()))
        panel.yaxis.set_minor_formatter(NullFormatter())


def to_show(panel: Axes, over: str, traces: Iterable[Trace]) -> Panel:
    """Returns the positions of the lines of a drawn panel with final limits."""
    left, bottom, right, top = panel.get_position().extents
    return Panel(
        box=(left, 1 - top, right, 1 - bottom),
        x=panel.get_xlim(),
        y=panel.get_ylim(),
        log=panel.get_yscale() == "log",
        over=over,
        traces=tuple(traces),
    )


def against_k(name: str, filled: FilledTable) -> Picture:
    """Draws the table of accuracy against K: mean, bars of one standard deviation."""
    figure, panels = new_figure(1, 1, (PANEL_WIDTH, 2.9), legend_rows=2)
    panel = panels[0, 0]
    (task,) = filled.tasks
    algorithms = filled.algorithms(task)
    styles = styles_of(algorithms)
    # Bars side by side.
    shift = 0.012 * (max(filled.columns) - min(filled.columns))
    traces = []
    for place, algorithm in enumerate(algorithms):
        points = [(k, filled.cells[task, algorithm, k].ours) for k in filled.columns]
        kept = [(k, ours) for k, ours in points if ours is not None]
        if not kept:
            continue
        color, line, marker = styles[algorithm]
        x = np.array([k + shift * (place - (len(algorithms) - 1) / 2) for k, _ in kept])
        y = np.array([ours.mean for _, ours in kept])
        deviations = np.array([0 if math.isnan(o.deviation) else o.deviation for _, o in kept])
        counts = f"mean of {over(kept[0][1])}"
        traces.append(Trace(filled.display(algorithm), counts, x, y, deviations))
        panel.errorbar(
            x,
            y,
            yerr=deviations,
            color=color,
            linestyle=line,
            marker=marker,
            capsize=3,
            linewidth=1.8,
            label=literal(filled.display(algorithm)),
        )
    panel.set_xticks(filled.columns)
    panel.set_xlabel("K, clients a round")
    panel.set_ylabel("sample accuracy")
    plain(panel)
    figure.legend(loc="lower center", ncols=2, frameon=False, handlelength=4)
    label, of = "", ""
    if filled.variant is not None:
        label = filled.variant.label
        of = f" of {counted(group.runs for group in filled.variant.groups)}"
    what = f"{filled.display(task, 'task')}, {label}"
    caption = f"{what}: accuracy against K; mean{of}, bars one standard deviation."
    return Picture(name, caption, figure, (to_show(panel, "K", traces),))


NAMED = ("reading", "clients_per_round", "constraint", "rounds")
# Largest number of distinguishable lines in one panel.
MAX_LINES = 12
_FEWEST_VALUES = 3
Told = Mapping[RunGroup, Mapping[str, Any]]


def curve_figures(task: str, groups: Sequence[RunGroup], free: Sequence[str] = ()) -> list[Picture]:
    """Returns the learning curves of a task.

    If the lines of an availability model are few, they share a panel. If they are many, there is a
    figure for each setting with at least three values of a method, all else equal, with a panel for
    all values. In addition, each set of comparable runs has a figure with a line per method. `free`
    are further settings in which methods may differ here.
    """
    found: list[Picture] = []
    for network, members in by_network(groups).items():
        told = told_apart(members)
        display = ", ".join(filter(None, (members[0].first.display("task"), network)))
        name = "_".join(["curves", task, *network.split()])
        lines = Counter(group.settings["availability"] for group in members)
        if max(lines.values()) <= MAX_LINES:
            found += curves(f"{name}_1", what=display, groups=members, told=told)
        else:
            found += _several(name, display, members, told, free)
    return found


def _several(
    name: str, display: str, groups: Sequence[RunGroup], told: Told, free: Sequence[str]
) -> list[Picture]:
    found: list[Picture] = []
    swept: set[RunGroup] = set()
    for setting, members in sweeps(groups, told).items():
        swept.update(members)
        only = {group: {setting: group.setting(setting)} for group in members}
        said = f"{display}, sweep of {setting}"
        if len({(g.algorithm, g.setting(setting)) for g in members}) <= MAX_LINES:
            found += curves(f"{name}_{setting}", what=said, groups=members, told=only)
            continue
        for method in dict.fromkeys(group.algorithm for group in members):
            own = [group for group in members if group.algorithm == method]
            what = f"{said}, {own[0].display}"
            found += curves(f"{name}_{setting}_{method}", what=what, groups=own, told=only)
    sets = variants([group.with_own(free) for group in groups], ("task", "availability"), NAMED)
    largest = max(len(variant.groups) for variant in sets)
    drawn = {id(group.first) for group in swept}
    for number, variant in enumerate(sets, start=1):
        again = all(id(group.first) in drawn for group in variant.groups)
        if not again or len(variant.groups) == largest:
            what = f"{display}, {variant.label}"
            found += curves(f"{name}_{number}", what, variant.groups)
    return found


def sweeps(groups: Sequence[RunGroup], told: Told) -> dict[str, list[RunGroup]]:
    """Returns groups of one task that differ only in one setting, by that setting.

    The result has the largest such set for each method and availability model, if it has three
    values. `told` is the result of `told_apart`.
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
