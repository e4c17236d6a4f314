"""Differences with their intervals, a panel per score: verdicts of a plan, or of tables."""

from __future__ import annotations

import textwrap
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from f3ast_tff.analysis.compare.render import COLOUR_NAMES, COLOURS
from f3ast_tff.analysis.curves import plain, save
from f3ast_tff.analysis.line_styles import literal

# Sizes in inches.
_NAMES, _PANEL, _ROW, _EDGES = 3.1, 3.2, 0.27, 1.15
_MARK, _LINE, _LETTERS = 0.13, 0.17, 46
_CELLS = ("#0072B2", "#D55E00", "#009E73", "#6E7781", "#CC79A7", "#E69F00")


def draw_verdicts(rows: pd.DataFrame, path: Path) -> None:
    """Draws claims of one family, a row per difference and cell.

    Args:
        rows: Rows of `plan_verdicts.verdicts_of_plan`, at least one.
        path: SVG or PNG file to write or replace.

    Raises:
        OSError: If the file cannot be written.
    """
    names = [f"{a}, {cell}" if cell else a for a, cell in zip(rows["difference"], rows["cell"])]
    rows = rows.assign(name=names)
    order = list(dict.fromkeys(names))
    panels = list(rows.groupby(["score", "at"], sort=False))
    size = (_NAMES + _PANEL * len(panels), _ROW * len(order) + _EDGES)
    figure = Figure(size, layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for panel, ((score, at), of_score) in zip(axes, panels):
        panel.axvline(0, color="0.35", linewidth=1)
        for row in of_score.to_dict("records"):
            _draw(panel, order.index(row["name"]), row, COLOURS[row["verdict"]])
        panel.set_title(f"{str(score).replace('_', ' ')}, {at}", fontsize="medium")
        panel.set_xlabel("difference")
        plain(panel)
    axes[0].set_yticks(range(len(order)), [literal(name) for name in order], fontsize=9)
    axes[0].set_ylim(len(order) - 0.4, -0.6)
    shown = {*rows["verdict"]}
    said = ", ".join(words for word, words in COLOUR_NAMES.items() if word in shown)
    figure.suptitle(f"A − B with its interval: {said}", fontsize="medium")
    save(figure, path)


def draw_differences(rows: pd.DataFrame, path: Path) -> None:
    """Draws differences that were not judged, a colour per cell.

    Args:
        rows: Columns `name`, the difference in words; `score`; `cell`, `""` without cells; `mean`,
            `low` and `high`. At least one row.
        path: SVG or PNG file to write or replace.

    Raises:
        OSError: If the file cannot be written.
    """
    names, cells = (list(dict.fromkeys(rows[column])) for column in ("name", "cell"))
    texts = [textwrap.wrap(name.replace(" − ", " −\n"), _LETTERS) for name in names]
    panels = list(rows.groupby("score", sort=False))
    row = max(_MARK * len(cells) + 0.12, _LINE * max(map(len, texts)) + 0.06)
    legend = 0.0 if cells == [""] else 0.22 * len(cells)
    size = (_NAMES + _PANEL * len(panels), row * len(names) + 1.0 + legend)
    figure = Figure(size, layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for panel, (score, of_score) in zip(axes, panels):
        panel.axvline(0, color="0.35", linewidth=1)
        for each in of_score.to_dict("records"):
            number = cells.index(each["cell"])
            place = names.index(each["name"]) + (number - (len(cells) - 1) / 2) * _MARK / row
            _draw(panel, place, each, _CELLS[number % len(_CELLS)])
        panel.set_title(str(score), fontsize="medium")
        panel.set_xlabel("difference")
        panel.locator_params(axis="x", nbins=5)
        plain(panel)
    axes[0].set_yticks(range(len(names)), [literal("\n".join(t)) for t in texts], fontsize=9)
    axes[0].set_ylim(len(names) - 0.5, -0.5)
    if cells != [""]:
        marks = [
            axes[0].plot([], [], "o-", color=_CELLS[n % len(_CELLS)])[0] for n in range(len(cells))
        ]
        figure.legend(
            marks, [literal(cell) for cell in cells], loc="outside lower center", frameon=False
        )
    save(figure, path)


def _draw(panel: Axes, place: float, row: Mapping[Hashable, Any], colour: str) -> None:
    ends = [row["low"], row["high"]]
    panel.plot(ends, [place, place], color=colour, linewidth=2.2, solid_capstyle="butt")
    panel.plot([row["mean"]], [place], color=colour, marker="o", markersize=5)
