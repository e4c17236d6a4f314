"""Accuracy against the round, as a picture."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator

from f3ast_tff.analysis.grouping import CONDITION, NAMES, Group, describe, group_runs
from f3ast_tff.analysis.runs import Run, RunsError, finished_runs
from f3ast_tff.analysis.styles import Style, styles_of
from f3ast_tff.training.atomic import atomic_write

DPI = 150
WIDTH = 10.0
ROW_HEIGHT = 3.4
EXTRA_HEIGHT = 1.1
_MOST_ROWS = 20
_MARKERS = 5
_TITLE_WIDTH = 95
_PANELS = {
    "test_sample_accuracy": "test sample accuracy",
    "test_user_accuracy": "test user accuracy",
}


def draw_curves(runs: Sequence[Run], path: Path) -> None:
    """Draws accuracy over samples and over users, a row of panels for each condition.

    A line is the mean of an algorithm's runs, the band around it one standard deviation to each
    side. Unfinished runs are left out; the title says how many.

    Args:
        runs: Runs, unfinished ones too.
        path: The PNG file to write or replace; on an error it stays as it was.

    Raises:
        RunsError: If no run is finished, a run is there twice, or there are too many conditions.
        OSError: If the file cannot be written.
    """
    groups = group_runs(finished_runs(runs))
    rows: dict[tuple[Any, ...], list[Group]] = {}
    for group in groups:
        rows.setdefault(tuple(group.condition.values()), []).append(group)
    if len(rows) > _MOST_ROWS:
        raise RunsError(f"{len(rows)} conditions, one picture holds {_MOST_ROWS}; give fewer runs")

    figure = Figure(
        figsize=(WIDTH, EXTRA_HEIGHT + ROW_HEIGHT * len(rows)),
        layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.1),
    )
    panels = figure.subplots(len(rows), 2, squeeze=False)
    styles = styles_of(group.algorithm for group in groups)
    varying = [name for name in groups[0].condition if _values(groups, name) > 1]
    for row, members in zip(panels, rows.values()):
        for panel, (column, label) in zip(row, _PANELS.items()):
            draw_panel(panel, members, column, styles)
            panel.set_ylabel(label)
            panel.set_title(_wrap(describe(members[0].condition, varying), 2), fontsize="medium")
    for panel in panels[-1]:
        panel.set_xlabel("round")
    figure.suptitle(_title(groups, varying, len(runs)), fontsize="medium")
    add_legend(figure)
    with atomic_write(Path(path), "wb") as file:
        figure.savefig(file, format="png", dpi=DPI)


def draw_panel(
    panel: Axes, groups: Sequence[Group], column: str, styles: Mapping[str, Style]
) -> None:
    """Draws one column of `metrics.csv` against the round: a line and its band for each group.

    Args:
        panel: Where to draw.
        groups: Of one condition, an algorithm each.
        column: Name of the column.
        styles: By algorithm.
    """
    for number, group in enumerate(groups):
        series = [run.metrics.set_index("round")[column] for run in group.runs]
        scores = pd.concat(series, axis=1)
        mean = scores.mean(axis=1, skipna=False)
        rounds = mean.index.to_numpy()
        color, line, marker = styles[group.algorithm]
        every = -(-len(mean) // _MARKERS)
        panel.plot(
            rounds,
            mean.to_numpy(),
            color=color,
            linestyle=line,
            marker=marker,
            # Markers of different algorithms sit at different rounds.
            markevery=(number % every, every),
            markersize=5,
            linewidth=1.8,
            label=NAMES.get(group.algorithm, group.algorithm),
        )
        if len(series) > 1:
            spread = scores.std(axis=1, ddof=1, skipna=False)
            low, high = (mean - spread).to_numpy(), (mean + spread).to_numpy()
            panel.fill_between(rounds, low, high, color=color, alpha=0.13, linewidth=0)
    panel.grid(alpha=0.3)
    panel.spines[["top", "right"]].set_visible(False)
    panel.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True, steps=[1, 2, 5, 10]))
    panel.set_xlim(left=0)


def add_legend(figure: Figure, loc: Any = "outside lower center") -> None:
    """Adds one legend with every label once, by default below all panels."""
    lines: dict[str, Any] = {}
    for panel in figure.axes:
        for handle, label in zip(*panel.get_legend_handles_labels()):
            lines.setdefault(label, handle)
    order = [name for name in NAMES.values() if name in lines]
    order += [name for name in lines if name not in order]
    figure.legend(
        [lines[name] for name in order],
        order,
        loc=loc,
        ncols=min(len(order), 5),
        frameon=False,
        handlelength=4,
    )


def _values(groups: Sequence[Group], name: str) -> int:
    return len({group.condition[name] for group in groups})


def _title(groups: Sequence[Group], varying: Sequence[str], num_runs: int) -> str:
    condition = groups[0].condition
    constant = describe(condition, [name for name in CONDITION if name not in varying])
    fewest, most = (count(len(group.runs) for group in groups) for count in (min, max))
    seeds = f"{fewest} to {most} seeds" if fewest < most else f"{most} seed{'s' * (most > 1)}"
    parts = [f"mean of {seeds}, band: one standard deviation" if most > 1 else seeds]
    unfinished = num_runs - sum(len(group.runs) for group in groups)
    if unfinished:
        parts.append(f"{unfinished} unfinished left out")
    return "\n".join([*([_wrap(constant, 1)] if constant else []), ", ".join(parts)])


def _wrap(text: str, columns: int) -> str:
    return "\n".join(textwrap.wrap(text, _TITLE_WIDTH // columns))
