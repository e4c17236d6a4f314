"""Draws kept scores against the round, and the gains of some methods over others.

python -m f3ast_tff.analysis.studies.score_curves --scores analysis/studies/table3_small/scores.csv
    --gain f3ast:fedavg,f3ast_adam:fedadam --out analysis/studies/table3_small/picture.png

Each row of panels is an availability, each pair of columns a task.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from f3ast_tff.analysis.command_line import command, out_flag, require_ending
from f3ast_tff.analysis.compare.cells import only_group
from f3ast_tff.analysis.curves import add_legend, plain, save
from f3ast_tff.analysis.line_styles import Look, literal, styles_of
from f3ast_tff.analysis.method_names import display_of, order_of
from f3ast_tff.analysis.run_groups import partition
from f3ast_tff.analysis.tidy_scores import kept_groups, read_scores, require_score, runs_where
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files.messages import show
from f3ast_tff.settings import REQUIRED, parameter

# Settings whose values are the rows, the columns and the lines.
_ROW, _COLUMN, _LINE = "availability", "task", "algorithm"
_PANEL_WIDTH, _PANEL_HEIGHT, _EXTRA_HEIGHT, _DPI = 2.9, 1.9, 0.9, 100
# Share of rounds left out of the axis: their gains, over scores near 0, would flatten all others.
_SETTLED = 0.25


@dataclass(frozen=True)
class Flags:
    """Flags of this command; lists are separated by commas."""

    scores: str = parameter(REQUIRED, "CSV file of tidy_scores", is_path=True)
    score: str = parameter("sample_accuracy", "score to draw, of the file's")
    where: str | None = parameter(None, "runs to keep, as SETTING=VALUE")
    gain: str | None = parameter(None, "gains to draw, as A:B for (A - B) / B")
    out: str = out_flag("PNG, SVG or PDF")


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Draws the picture."""
    require_ending("out", flags.out, ".png", ".svg", ".pdf")
    table = runs_where(read_scores(Path(flags.scores)), flags.where)
    require_score(flags.score, table)
    pairs = _pairs(flags.gain, table)
    save(score_curves(table, flags.score, pairs), Path(flags.out), _DPI)
    show(flags.out)


def score_curves(table: pd.DataFrame, score: str, gains: Sequence[tuple[str, str]]) -> Figure:
    """Draws a score against the round for each availability, task and algorithm.

    A line is the mean over draws of the data, of each draw's mean over its seeds. The band is one
    standard deviation over draws to each side. Both end where a run's score is not finite.

    Args:
        table: Scores, of `tidy_scores.read_scores`.
        score: Score to draw, of the table.
        gains: Pairs (A, B) of algorithms, for the gain (A - B) / B of each common draw, in percent,
            drawn in separate panels.

    Raises:
        RunsError: If runs of one panel and algorithm differ in another setting.
    """
    if _ROW not in table:
        # A file of one availability does not name it.
        table = table.assign(**{_ROW: ""})
    for members in partition(kept_groups(table), [_COLUMN, _ROW, _LINE]):
        only_group(members, "line", "choose with --where SETTING=VALUE")
    cells: Any = table.groupby([_COLUMN, _ROW, _LINE])
    of_cell = {key: _by_draw(own, score) for key, own in cells}
    names = {kind: _in_order(kind, table[kind].unique()) for kind in (_COLUMN, _ROW, _LINE)}
    styles = styles_of(names[_LINE])
    looks = {each: Look(*styles[each], display_of(_LINE, each)) for each in names[_LINE]}
    kinds = 2 if gains else 1
    num_rows, num_columns = len(names[_ROW]), kinds * len(names[_COLUMN])
    size = (_PANEL_WIDTH * num_columns, _PANEL_HEIGHT * num_rows + _EXTRA_HEIGHT)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(num_rows, num_columns, squeeze=False, sharex="col")
    for r, availability in enumerate(names[_ROW]):
        for c, task in enumerate(names[_COLUMN]):
            keys = {name: (task, availability, name) for name in names[_LINE]}
            lines = {name: of_cell[key] for name, key in keys.items() if key in of_cell}
            own = panels[r, kinds * c : kinds * (c + 1)]
            _draw(own[0], lines, looks)
            if gains:
                ratios = {a: _gain(lines[a], lines[b]) for a, b in gains if {a, b} <= lines.keys()}
                _draw(own[1], ratios, looks)
                _zoom(own[1], ratios)
            if r == 0:
                own[0].set_title(f"{display_of(_COLUMN, task)}\n{score.replace('_', ' ')}")
                for panel in own[1:]:
                    said = [f"{display_of(_LINE, a)} over {display_of(_LINE, b)}" for a, b in gains]
                    panel.set_title(literal(",\n".join([*said[:-1], f"{said[-1]}, %"])), fontsize=9)
        panels[r, 0].set_ylabel(display_of(_ROW, availability))
    for panel in panels[-1]:
        panel.set_xlabel("round")
    add_legend(figure, looks.values())
    return figure


def _by_draw(runs: pd.DataFrame, score: str) -> pd.DataFrame:
    """A score by round, a column per draw: the mean over its seeds, NaN if one of them lacks it."""
    by_run = runs.pivot(index=["draw", "seed"], columns="round", values=score)
    lost = by_run.isna().groupby("draw").any()
    return by_run.groupby("draw").mean().mask(lost).T


def _gain(a: pd.DataFrame, b: pd.DataFrame) -> pd.DataFrame:
    a, b = a.align(b, join="inner")
    return 100 * (a / b - 1)


def _draw(panel: Axes, lines: dict[str, pd.DataFrame], looks: dict[str, Look]) -> None:
    for name, scores in lines.items():
        look = looks[name]
        style = {"color": look.color, "linestyle": look.dashes, "label": literal(look.label)}
        mean, spread = scores.mean(axis=1, skipna=False), scores.std(axis=1, skipna=False)
        panel.plot(mean.index, mean, **style)
        panel.fill_between(
            mean.index, mean - spread, mean + spread, color=look.color, alpha=0.13, linewidth=0
        )
    plain(panel)


def _zoom(panel: Axes, ratios: dict[str, pd.DataFrame]) -> None:
    """Fits the vertical axis to the values after the first rounds."""
    panel.axhline(0, color="black", linewidth=0.8)
    later = [ratio[ratio.index > _SETTLED * ratio.index.max()] for ratio in ratios.values()]
    values = pd.concat(later).stack() if later else pd.Series([0.0])
    low, high = min(0.0, values.min()), max(0.0, values.max())
    margin = 0.05 * (high - low) or 1.0
    panel.set_ylim(low - margin, high + margin)


def _pairs(gain: str | None, table: pd.DataFrame) -> list[tuple[str, str]]:
    """Returns the pairs of `--gain`, of algorithms of the table."""
    found = []
    for text in gain.split(",") if gain else ():
        a, _, b = text.partition(":")
        there = ", ".join(_in_order(_LINE, table[_LINE].unique()))
        if {a, b} - set(table[_LINE]):
            raise ParameterError("gain", text, f"must be A:B, both of {there}")
        found.append((a, b))
    return found


def _in_order(kind: str, names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: (order_of(kind, name), name))


if __name__ == "__main__":
    sys.exit(main(sys.argv))
