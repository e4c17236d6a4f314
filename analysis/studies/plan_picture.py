"""The verdicts of a study's plan as a picture: differences and their intervals, a panel a score."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from f3ast_tff.analysis.compare.render import COLOUR_NAMES, COLOURS
from f3ast_tff.analysis.curves import plain, save
from f3ast_tff.analysis.line_styles import literal

# Sizes in inches.
_NAMES, _PANEL, _ROW, _EDGES = 3.1, 3.2, 0.27, 1.15


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
            place, colour = order.index(row["name"]), COLOURS[row["verdict"]]
            ends = [row["low"], row["high"]]
            panel.plot(ends, [place, place], color=colour, linewidth=2.2, solid_capstyle="butt")
            panel.plot([row["mean"]], [place], color=colour, marker="o", markersize=5)
        panel.set_title(f"{str(score).replace('_', ' ')}, {at}", fontsize="medium")
        panel.set_xlabel("difference")
        plain(panel)
    axes[0].set_yticks(range(len(order)), [literal(name) for name in order], fontsize=9)
    axes[0].set_ylim(len(order) - 0.4, -0.6)
    shown = {*rows["verdict"]}
    said = ", ".join(words for word, words in COLOUR_NAMES.items() if word in shown)
    figure.suptitle(f"A − B with its interval: {said}", fontsize="medium")
    save(figure, path)
