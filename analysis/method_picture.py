"""A heat map of the differences of methods to the methods that they correct, regime by regime."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from f3ast_tff.analysis.command_line import require_ending
from f3ast_tff.analysis.curves import save
from f3ast_tff.analysis.line_styles import literal
from f3ast_tff.analysis.runs import RunsError

# 900 pixels wide.
_DPI, _WIDTH = 100, 9.0
_ROW, _EXTRA = 0.21, 1.5
_COLOURS = "RdBu"
_NOTHING = "#dddddd"
# Limits are multiples of it.
_STEP = 0.05
# The share of cells within the limits; few lost runs would make the others pale.
_WITHIN = 0.95


def draw_differences(tables: Mapping[str, pd.DataFrame], path: Path) -> None:
    """Draws methods and regimes, coloured by the difference to the method corrected.

    Rows are ordered by mean score. A dot marks a cell whose corrected interval leaves out 0; a
    grey cell has no difference, and a method without any is left out.

    Args:
        tables: Rows of `method_differences.regime_differences` by title, a panel each.
        path: The file to write or replace, `.svg` or `.png`.

    Raises:
        ParameterError: If the file's name ends otherwise.
        RunsError: If no method has a difference.
        OSError: If the file cannot be written.
    """
    require_ending("picture", path, ".svg", ".png")
    shown = {title: _with_differences(table) for title, table in tables.items()}
    shown = {title: table for title, table in shown.items() if len(table)}
    if not shown:
        raise RunsError("no method has a difference to the method that it corrects")
    limit = symmetric_limit(pd.concat(shown.values())["difference"])
    heights = [_EXTRA + _ROW * table["label"].nunique() for table in shown.values()]
    figure = Figure(figsize=(_WIDTH, sum(heights)), layout="constrained")
    panels = figure.subplots(len(shown), 1, squeeze=False, height_ratios=heights)[:, 0]
    colours = mpl.colormaps[_COLOURS].with_extremes(bad=_NOTHING)
    norm = Normalize(-limit, limit)
    for panel, (title, table) in zip(panels, shown.items()):
        _draw(panel, table, colours, norm)
        panel.set_title(literal(title), fontsize=10, loc="left")
    mappable = mpl.cm.ScalarMappable(norm, colours)
    bar = figure.colorbar(mappable, ax=list(panels), extend="both", aspect=40, pad=0.015)
    bar.set_label(f"difference (limits ±{limit:.2f}); dot: interval without 0", fontsize=9)
    # The same picture again gives the same file: the layout differs in its last digits.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes in figure.axes:
        left, bottom, width, height = (round(each, 4) for each in axes.get_position().bounds)
        axes.set_position((left, bottom, width, height))
    save(figure, path, _DPI)


def symmetric_limit(differences: pd.Series[Any]) -> float:
    """Returns the end of the colour scale: 95% of the differences are within, in steps of .05."""
    size = float(differences.abs().quantile(_WITHIN))
    return max(_STEP, math.ceil(round(size / _STEP, 9)) * _STEP)


def _with_differences(table: pd.DataFrame) -> pd.DataFrame:
    """The methods that have a difference, in rows by mean score, with the labels of the rows."""
    known = table.groupby("method")["difference"].transform("count") > 0
    mean = table.groupby("method")["score"].transform("mean")
    found = table.assign(mean=mean, label=table["method"] + " − " + table["corrects"])[known]
    return found.sort_values("mean", ascending=False, kind="stable")


def _draw(panel: Axes, table: pd.DataFrame, colours: mpl.colors.Colormap, norm: Normalize) -> None:
    labels, regimes = table["label"].unique(), list(table["regime"].unique())
    wide = table.pivot(index="label", columns="regime").reindex(labels)
    values = wide["difference"][regimes].to_numpy(float)
    panel.imshow(np.ma.masked_invalid(values), cmap=colours, norm=norm, aspect="auto")
    apart = (wide["low"][regimes] > 0) | (wide["high"][regimes] < 0)
    for row, column in np.argwhere(apart.to_numpy()):
        strong = abs(norm(values[row, column]) - 0.5) > 0.35
        panel.plot(column, row, ".", color="white" if strong else "black", markersize=6)
    panel.set_xticks(range(len(regimes)), map(literal, regimes), rotation=40, ha="right")
    panel.set_yticks(range(len(labels)), map(literal, labels))
    panel.tick_params(labelsize=8, length=0)
    panel.spines[:].set_visible(False)
