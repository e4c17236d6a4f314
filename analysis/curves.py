"""Accuracy against the round, as a picture, and how the line of each algorithm looks."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator

from f3ast_tff.analysis.run_groups import (
    CONDITION,
    RunGroup,
    comparable_groups,
    counted,
    describe,
)
from f3ast_tff.analysis.runs import Run, RunsError, finished_runs
from f3ast_tff.atomic import atomic_write

DPI = 150
WIDTH = 10.0
ROW_HEIGHT = 3.4
EXTRA_HEIGHT = 1.1
_MOST_ROWS = 20
_MARKERS = 5
_TITLE_WIDTH = 95
# Colour, dashes and marker, all three an algorithm's own. Okabe and Ito's colours, which the
# colour-blind tell apart; dashes and markers also in grey.
Style = tuple[str, Any, str]
# A selection rule and its Adam variant share a hue.
_STYLES: dict[str, Style] = {
    "fedavg": ("#0072B2", "--", "o"),
    "fedadam": ("#56B4E9", ":", "s"),
    "f3ast": ("#D55E00", "-", "^"),
    "f3ast_adam": ("#E69F00", "-.", "D"),
    "poc": ("#009E73", (0, (7, 2, 1, 2, 1, 2)), "v"),
    # Those of the other papers, compared among themselves: their colours come back.
    "ca_fed": ("#000000", (0, (12, 2)), "p"),
    "adafed": ("#0072B2", (0, (5, 1)), "h"),
    "unbiased": ("#009E73", (0, (2, 1)), "<"),
    "more_available": ("#E69F00", (0, (6, 2, 2, 2)), ">"),
    "f3ast_of_ca_fed": ("#CC79A7", (0, (3, 3)), "d"),
    "fedlaavg": ("#D55E00", (0, (9, 1, 1, 1)), "X"),
    "fedavg_then_fedlaavg": ("#CC79A7", (0, (9, 1, 4, 1)), "8"),
    "sequential_sgd": ("#000000", (0, (1, 3)), "1"),
    "uniform": ("#56B4E9", (0, (4, 2, 4, 6)), "2"),
    "f3ast_fixed": ("#E69F00", (0, (1, 2, 6, 2)), "3"),
    "fedavg_all": ("#56B4E9", (0, (3, 1, 3, 4)), "4"),
    "fedau": ("#009E73", (0, (6, 1, 1, 1, 1, 1)), "|"),
    "oort_loss": ("#CC79A7", (0, (2, 3)), "_"),
    "mifa": ("#0072B2", (0, (8, 1, 2, 1)), "$a$"),
    "fedvarp": ("#D55E00", (0, (6, 4)), "$f$"),
    "fedstale": ("#E69F00", (0, (5, 2, 1, 2, 1, 2)), "$s$"),
    "mimic": ("#000000", (0, (3, 2, 1, 2)), "$m$"),
    "fedawe": ("#56B4E9", (0, (2, 1, 5, 1)), "$w$"),
    "scaffold": ("#009E73", (0, (10, 1, 2, 1, 2, 1)), "$c$"),
    "amplified_fedavg": ("#0072B2", (0, (1, 1, 4, 1)), "$p$"),
    "amplified_scaffold": ("#D55E00", (0, (7, 3, 1, 3)), "$r$"),
}
_OTHER_COLOURS = ("#000000", "#CC79A7", "#999999")
_OTHER_DASHES = ((0, (4, 1)), (0, (1, 1)), (0, (8, 3)), (0, (10, 2, 2, 2)))
_OTHER_MARKERS = ("x", "P", "*", "H", "+")
_PANELS = {
    "test_sample_accuracy": "test sample accuracy",
    "test_user_accuracy": "test user accuracy",
}


def draw_curves(runs: Sequence[Run], path: Path) -> None:
    """Draws accuracy over samples and over users, a row of panels for each condition.

    A line is the mean over an algorithm's draws of the data, of each draw's mean over its seeds,
    the band around it one standard deviation over draws to each side; with one draw both are over
    its seeds. Unfinished runs are left out; the title says how many.

    Args:
        runs: Runs, unfinished ones too.
        path: The PNG file to write or replace; on an error it stays as it was.

    Raises:
        RunsError: If no run is finished, a run is there twice, or there are too many conditions.
        OSError: If the file cannot be written.
    """
    groups, names = comparable_groups(finished_runs(runs))
    rows: dict[tuple[Any, ...], list[RunGroup]] = {}
    for group in groups:
        rows.setdefault(tuple(map(group.setting, names)), []).append(group)
    if len(rows) > _MOST_ROWS:
        raise RunsError(f"{len(rows)} conditions, one picture holds {_MOST_ROWS}; give fewer runs")

    figure = Figure(
        figsize=(WIDTH, EXTRA_HEIGHT + ROW_HEIGHT * len(rows)),
        layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.1),
    )
    panels = figure.subplots(len(rows), 2, squeeze=False)
    styles = styles_of(group.algorithm for group in groups)
    varying = [name for name in names if len({group.setting(name) for group in groups}) > 1]
    for row, members in zip(panels, rows.values()):
        for panel, (column, label) in zip(row, _PANELS.items()):
            draw_panel(panel, members, column, styles)
            panel.set_ylabel(label)
            said = describe(members[0].condition(varying), varying)
            panel.set_title(_wrap(said, 2), fontsize="medium")
    for panel in panels[-1]:
        panel.set_xlabel("round")
    figure.suptitle(_title(groups, varying, len(runs)), fontsize="medium")
    add_legend(figure, groups)
    save(figure, Path(path))


def draw_panel(
    panel: Axes, groups: Sequence[RunGroup], column: str, styles: Mapping[str, Style]
) -> None:
    """Draws one column of `metrics.csv` against the round: a line and its band for each group.

    Args:
        panel: Where to draw.
        groups: Of one condition, an algorithm each.
        column: Name of the column.
        styles: By algorithm.
    """
    for number, group in enumerate(groups):
        scores = _by_draw(group, column)
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
            label=group.display,
        )
        if scores.shape[1] > 1:
            spread = scores.std(axis=1, ddof=1, skipna=False)
            low, high = (mean - spread).to_numpy(), (mean + spread).to_numpy()
            panel.fill_between(rounds, low, high, color=color, alpha=0.13, linewidth=0)
    plain(panel)
    panel.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True, steps=[1, 2, 5, 10]))
    panel.set_xlim(left=0)


def _by_draw(group: RunGroup, column: str) -> pd.DataFrame:
    """A score by round: a column a draw, its mean over seeds; with one draw a column a seed."""
    by_draw: dict[int, list[pd.Series[Any]]] = {}
    for pair in sorted(group.runs):
        scores = group.runs[pair].metrics.set_index("round")[column]
        by_draw.setdefault(pair.draw, []).append(scores)
    draws = list(by_draw.values())
    if len(draws) == 1:
        return pd.concat(draws[0], axis=1)
    return pd.concat([pd.concat(d, axis=1).mean(axis=1, skipna=False) for d in draws], axis=1)


def plain(panel: Axes) -> None:
    """Gives a panel a light grid and no frame."""
    panel.grid(alpha=0.3)
    panel.spines[["top", "right"]].set_visible(False)


def save(figure: Figure, path: Path) -> None:
    """Writes a PNG file, or replaces it.

    Raises:
        OSError: If it cannot be written; it stays as it was.
    """
    with atomic_write(path, "wb") as file:
        figure.savefig(file, format="png", dpi=DPI)


def add_legend(
    figure: Figure, groups: Iterable[RunGroup], loc: Any = "outside lower center"
) -> None:
    """Adds one legend with every algorithm once, in their order, by default below all panels."""
    lines: dict[str, Any] = {}
    for panel in figure.axes:
        for handle, label in zip(*panel.get_legend_handles_labels()):
            lines.setdefault(label, handle)
    places = {group.display: (group.first.order("algorithm"), group.algorithm) for group in groups}
    order = sorted(lines, key=places.__getitem__)
    figure.legend(
        [lines[name] for name in order],
        order,
        loc=loc,
        ncols=min(len(order), 5),
        frameon=False,
        handlelength=4,
    )


def styles_of(algorithms: Iterable[str]) -> dict[str, Style]:
    """Returns the style of every algorithm of the papers, and of those given beside them."""
    others = sorted(set(algorithms) - set(_STYLES))
    kinds = (_OTHER_COLOURS, _OTHER_DASHES, _OTHER_MARKERS)
    extra = {name: tuple(k[i % len(k)] for k in kinds) for i, name in enumerate(others)}
    return {**_STYLES, **extra}  # type: ignore[dict-item]


def _title(groups: Sequence[RunGroup], varying: Sequence[str], num_runs: int) -> str:
    names = [name for name in CONDITION if name not in varying]
    constant = describe(groups[0].condition(names), names)
    several = any(len(group.runs) > 1 for group in groups)
    over = counted(groups)
    parts = [f"mean of {over}, band: one standard deviation" if several else over]
    unfinished = num_runs - sum(len(group.runs) for group in groups)
    if unfinished:
        parts.append(f"{unfinished} unfinished left out")
    return "\n".join([*([_wrap(constant, 1)] if constant else []), ", ".join(parts)])


def _wrap(text: str, columns: int) -> str:
    return "\n".join(textwrap.wrap(text, _TITLE_WIDTH // columns))
