"""Shows the cumulative importance of groups of clients: Markdown tables, or a picture.

python -m f3ast_tff.analysis.studies.cafed_fig1a.importance_tables
    --importance analysis/studies/cafed_fig1a/importance.csv
    --rows algorithm,ca_fed_bias --over unbiased

Importance is relative to p: 1 is the importance of an unbiased method. With --picture the command
draws it and prints no tables.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from f3ast_tff.analysis.command_line import command, require_ending
from f3ast_tff.analysis.compare.cells import ordered_keys
from f3ast_tff.analysis.compare.paired_difference import difference_of_common, mean_interval
from f3ast_tff.analysis.compare.scored import Pair, RunsError
from f3ast_tff.analysis.curves import save
from f3ast_tff.analysis.line_styles import literal
from f3ast_tff.analysis.studies.cumulative_importance import CLIENTS, GROUPS
from f3ast_tff.analysis.texts import NOTHING, interval, markdown_table, of_intervals
from f3ast_tff.analysis.tidy_scores import Key, label, read_cells
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files.messages import show
from f3ast_tff.settings import REQUIRED, parameter

# Name, colour and marker of each group.
_LOOKS = {
    "more_available": ("more available", "#0072B2", "o"),
    "less_available_weakly_correlated": ("less available, weakly correlated", "#009E73", "s"),
    "less_available_correlated": ("less available, correlated", "#D55E00", "^"),
}
_VALUES = ("weight", "ratio")
_DPI, _WIDTH, _ROW, _EXTRA = 100, 8.0, 0.5, 1.1
# Values by method, group of clients, and pair of draw and seed.
Table = dict[Key, dict[str, dict[Pair, float]]]


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    importance: str = parameter(REQUIRED, "CSV file of cumulative_importance", is_path=True)
    rows: str = parameter("algorithm", "settings whose values are the rows, separated by commas")
    over: str | None = parameter(
        None, "algorithm whose weights on the same draws a second table divides by"
    )
    picture: str | None = parameter(None, "picture to write, .svg or .png", is_path=True)


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Prints the tables or draws the picture."""
    names = flags.rows.split(",")
    table = read_importance(Path(flags.importance))
    for name in names:
        if name not in table:
            raise ParameterError(
                "rows", name, f"must be of the columns {', '.join(map(str, table))}"
            )
    if flags.picture is not None:
        require_ending("picture", flags.picture, ".svg", ".png")
        save(draw(by_method(table, names, "ratio"), names), Path(flags.picture), _DPI)
        show(f"written: {flags.picture}")
        return
    ratios = by_method(table, names, "ratio")
    shown = [_markdown("Cumulative importance over p", names, ratios), _favoured(names, ratios)]
    if flags.over is not None:
        weights = by_method(table, names, "weight")
        base = next((key for key in weights if "/".join(filter(None, key)) == flags.over), None)
        if base is None:
            known = ", ".join("/".join(filter(None, key)) for key in weights)
            raise ParameterError("over", flags.over, f"must be of the rows {known}")
        title = f"Cumulative importance over that of {label(names, base)}, same draws"
        shown.append(_markdown(title, names, _over(weights, base)))
    show("\n\n".join(shown))


def by_method(table: pd.DataFrame, names: Sequence[str], value: str) -> Table:
    """Returns a column of the file by method, group of clients, and pair of draw and seed.

    Pairs without a value are left out.

    Raises:
        RunsError: If runs of one method differ in another setting, or a method has one run.
    """
    found: Table = {}
    for row in table.to_dict("records"):
        key = tuple(str(row[name]) for name in names)
        pair = Pair(int(row["data_seed"]), int(row["seed"]))
        values = found.setdefault(key, {name: {} for name in GROUPS})[row[CLIENTS]]
        if pair in values:
            raise RunsError(f"{label(names, key)} has {pair} twice; name more settings in --rows")
        # No ratio where p is 0.
        values[pair] = float(row[value] or "nan")
    fewest = min(len(values) for groups in found.values() for values in groups.values())
    if fewest < 2:
        raise RunsError("an interval needs two draws of each method")
    return {
        key: {
            name: {pair: each for pair, each in values.items() if not math.isnan(each)}
            for name, values in found[key].items()
        }
        for key in ordered_keys(found, names)
    }


def draw(ratios: Table, names: Sequence[str]) -> Figure:
    """Draws the importance over p of each method and group, with 95% intervals over draws."""
    figure = Figure(figsize=(_WIDTH, _EXTRA + _ROW * len(ratios)), layout="constrained")
    panel = figure.subplots()
    for y, groups in enumerate(ratios.values()):
        for place, (name, values) in enumerate(groups.items()):
            said, color, marker = _LOOKS[name]
            found = mean_interval(values) if len(values) > 1 else None
            # Without an interval only the name is drawn, in the legend.
            low, mean, high = (found.low, found.mean, found.high) if found else [math.nan] * 3
            at = y + 0.2 * (place - 1)
            panel.plot([low, high], [at, at], color=color, linewidth=1.6)
            shown = said if y == 0 else None
            panel.plot(mean, at, marker, color=color, markersize=5, label=shown)
    panel.axvline(1, color="#444444", linewidth=0.8)
    panel.set_yticks(range(len(ratios)), [literal(label(names, key)) for key in ratios])
    panel.set_ylim(len(ratios) - 0.5, -0.5)
    panel.set_xlabel(r"cumulative importance over $p$; 95% intervals over draws of the data")
    panel.tick_params(axis="y", length=0)
    panel.spines[["left", "right", "top"]].set_visible(False)
    panel.grid(axis="x", alpha=0.3)
    figure.legend(loc="outside upper center", ncols=len(GROUPS), frameon=False, fontsize=9)
    return figure


def _over(weights: Table, base: Key) -> Table:
    """Weights over the weights of one method on the same draws, where these are not 0."""
    found: Table = {}
    for key, groups in weights.items():
        for name, values in groups.items():
            below = weights[base][name]
            ratios = {
                pair: value / below[pair] for pair, value in values.items() if below.get(pair)
            }
            found.setdefault(key, {})[name] = ratios
    return found


def _markdown(title: str, names: Sequence[str], table: Table) -> str:
    headings = ["", *(_LOOKS[name][0] for name in GROUPS)]
    rows = [
        [label(names, key), *(_cell(groups[name]) for name in GROUPS)]
        for key, groups in table.items()
    ]
    cells = [groups[name] for groups in table.values() for name in GROUPS]
    found = [mean_interval(each) for each in cells if len(each) > 1]
    return f"{title}:\n\n{markdown_table(headings, rows)}\n\nMeans; 95% {of_intervals(found)}."


def _favoured(names: Sequence[str], ratios: Table) -> str:
    """Shows the lead of the more available clients over every other group."""
    first, *others = GROUPS
    rows = [
        [
            label(names, key),
            *(interval(difference_of_common(groups[first], groups[name]), 3) for name in others),
        ]
        for key, groups in ratios.items()
    ]
    headings = ["", *(f"minus {_LOOKS[name][0]}" for name in others)]
    title = f"Cumulative importance over p, {_LOOKS[first][0]}:"
    return f"{title}\n\n{markdown_table(headings, rows)}"


def _cell(values: Mapping[Pair, float]) -> str:
    if len(values) < 2:
        return NOTHING
    found = mean_interval(values)
    return f"{found.mean:.3f} [{found.low:.3f}, {found.high:.3f}]"


def read_importance(path: Path) -> pd.DataFrame:
    """Reads a file of cumulative importance, its cells as texts.

    Raises:
        RunsError: If it cannot be read or lacks a column.
    """
    table = read_cells(path)
    for name in ("data_seed", "seed", CLIENTS, *_VALUES):
        if name not in table:
            raise RunsError(f"{path} has no column {name}; cumulative_importance writes such files")
    return table


if __name__ == "__main__":
    sys.exit(main(sys.argv))
