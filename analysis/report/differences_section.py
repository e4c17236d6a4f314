"""The first section of the report: is one method better than another, whatever the runs are."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

import numpy as np
import pandas as pd

from f3ast_tff.analysis.curves import Trace, plain
from f3ast_tff.analysis.differences import (
    BETTER,
    WORSE,
    Methods,
    differences,
    heading,
    methods_of,
)
from f3ast_tff.analysis.line_styles import literal
from f3ast_tff.analysis.report.document import Block, Grid, Listing, Picture, Section, Text
from f3ast_tff.analysis.report.figures import PANEL_WIDTH, new_figure, to_show
from f3ast_tff.analysis.run_groups import RunGroup, higher_is_better
from f3ast_tff.analysis.texts import NOTHING

# Longer lists are folded; a picture ends there.
_MAX_ROWS = 40
_ROW_HEIGHT = 0.42
_CHARACTERS = 58
_NO_WHERE = "None of the settings below"
_COLOURS = {BETTER: "#0072B2", WORSE: "#D55E00"}
_OPEN_COLOUR = "#777777"
# A client drawn more than once is the papers' own sampling with replacement.
_MAY = {
    "too_many": "more clients than the constraint allows",
    "unavailable": "clients that are not available",
}


def differences_section(
    groups: Sequence[RunGroup], score: str, period: str, baseline: str | None
) -> tuple[Section, pd.DataFrame]:
    """Builds the section; without blocks if no two methods ran under equal conditions.

    Returns:
        The section, and the table of `differences.differences`, whose arguments these are.
    """
    methods = methods_of(groups)
    table = differences(methods, score=score, period=period, baseline=baseline)
    title, name = "Is one better?", score.replace("_", " ")
    said = heading(methods, table, score, period)
    if table.empty:
        several = len(set(methods.labels.values())) > 1
        return Section(title, [Text(said)] if several else []), table
    text = (
        f"{said} {'Higher' if higher_is_better(score) else 'Lower'} is better. Two methods are "
        "compared where task, availability and all settings agree, except their own. Too close to "
        "call: the interval holds 0. More draws make it shorter; choose their number beforehand."
    )
    blocks: list[Block] = [Text(text)]
    for where, part in table.groupby("where", sort=False):
        lines = tuple(part["sentence"])
        none = _NO_WHERE if table["where"].nunique() > 1 else "All runs"
        blocks.append(Listing(str(where) or none, lines, folded=len(table) > _MAX_ROWS))
    if notes := _notes(methods):
        blocks.append(Listing("Beside these", notes, folded=False))
    if table["difference"].notna().any():
        blocks.append(_forest(table, name))
    return Section(title, [*blocks, _grid(table, name)]), table


def _notes(methods: Methods) -> tuple[str, ...]:
    """Methods that break a rule of selection, or end no better than a guess."""
    lines = []
    for group in methods.groups:
        label = methods.labels[group]
        summaries = [run.summary or {} for run in group.runs.values()]
        rules = {rule for summary in summaries for rule in summary.get("may_select", ())}
        if said := [words for rule, words in _MAY.items() if rule in rules]:
            lines.append(f"{label} may select {' and '.join(said)}.")
        if count := group.num_guessing:
            many = f"{count} of {len(group.runs)} runs"
            lines.append(f"{label}: {many} end no better than a guess among the classes.")
    return tuple(dict.fromkeys(lines))


def _grid(table: pd.DataFrame, name: str) -> Grid:
    rows = tuple(
        (
            f"{row['a']} − {row['b']}",
            _number(row["difference"]),
            _number(row["low"]),
            _number(row["high"]),
            NOTHING if math.isnan(row["p"]) else f"{row['p']:.4f}",
            str(row["draws"]),
            str(row["pairs"]),
            row["verdict"],
        )
        for row in table.to_dict("records")
    )
    several = table["where"].nunique() > 1
    groups = tuple(where or _NO_WHERE for where in table["where"]) if several else ()
    head = ("A − B", "difference", "low", "high", "p (Holm)", "draws", "pairs", "A is")
    caption = f"Paired differences in {name}"
    return Grid("differences", caption, head, rows, folded=True, groups=groups)


def _number(value: float) -> str:
    return NOTHING if math.isnan(value) else f"{value:+.4f}"


def _forest(table: pd.DataFrame, name: str) -> Picture:
    """Draws the differences and their intervals, a line each under its name."""
    shown = table[table["difference"].notna()].head(_MAX_ROWS)
    conditions = list(dict.fromkeys(shown["where"]))
    headings = len(conditions) if len(conditions) > 1 else 0
    rows = len(shown) + headings
    figure, panels = new_figure(1, 1, (PANEL_WIDTH, _ROW_HEIGHT * rows + 0.2), 0)
    panel, traces, place = panels[0, 0], [], 0
    figure.subplots_adjust(left=0.03)

    def write(text: str, weight: str = "normal") -> None:
        panel.annotate(
            literal(textwrap.shorten(text, _CHARACTERS, placeholder=" ...")),
            xy=(0, place),
            xycoords=("axes fraction", "data"),
            xytext=(4, 7),
            textcoords="offset points",
            fontsize=9,
            fontweight=weight,
        )

    for where, part in shown.groupby("where", sort=False):
        if headings:
            write(str(where) or _NO_WHERE, "bold")
            place += 1
        for row in part.to_dict("records"):
            color = _COLOURS.get(row["verdict"], _OPEN_COLOUR)
            ends = [row["low"], row["high"]]
            panel.plot(ends, [place, place], color=color, linewidth=2.2, solid_capstyle="butt")
            panel.plot([row["difference"]], [place], marker="o", color=color, linestyle="none")
            label = f"{row['a']} − {row['b']}"
            write(label)
            at = np.array([row["difference"]])
            traces.append(Trace(label, row["verdict"], at, np.array([place])))
            place += 1
    panel.axvline(0, color="0.35", linewidth=1)
    panel.set_ylim(rows - 0.5, -0.8)
    panel.set_yticks([])
    panel.set_xlabel(f"difference in {name}")
    plain(panel)
    panel.spines["left"].set_visible(False)
    more = len(table) - len(shown)
    left_out = f"; {more} more are in the table" if more else ""
    caption = (
        f"Differences in {name} with their intervals: better in blue, worse in red, too close to "
        f"call in grey{left_out}."
    )
    return Picture("differences_forest", caption, figure, (to_show(panel, "difference", traces),))
