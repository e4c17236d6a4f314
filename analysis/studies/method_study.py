"""Compares the methods of a study: each in its objective, with the method it corrects and FedAvg.

python -m f3ast_tff.analysis.studies.method_study --scores scores.csv
    --objective own

The command writes files with --out or --picture, and otherwise prints Markdown tables. The
objective `own` is the objective of each method's paper.
"""

from __future__ import annotations

import math
import sys
import textwrap
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from f3ast_tff.analysis.command_line import command, require_ending
from f3ast_tff.analysis.compare.leads import rounds_before
from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.curves import save
from f3ast_tff.analysis.line_styles import literal
from f3ast_tff.analysis.method_names import display_of
from f3ast_tff.analysis.studies.regime_differences import (
    OWN,
    at_tuned_rates,
    guess_loss,
    mean_of_all,
    method_means,
    regime_differences,
)
from f3ast_tff.analysis.study_runs import RATES, SCORES_OF, SHARE, StudyRuns, read_studies
from f3ast_tff.analysis.texts import markdown_table, write_csv
from f3ast_tff.analysis.tidy_scores import read_scores, runs_where
from f3ast_tff.files.messages import show
from f3ast_tff.settings import REQUIRED, parameter

# Resolution and width of the picture, 900 pixels.
_DPI, _WIDTH = 100, 9.0
_ROW, _EXTRA = 0.21, 1.5
_COLOURS = "RdBu"
_NOTHING = "#dddddd"
# Limits are multiples of this step.
_STEP = 0.05
# Share of cells within the limits, so that a few lost runs do not make all other cells pale.
_WITHIN = 0.95


def draw_differences(tables: Mapping[str, pd.DataFrame], path: Path) -> None:
    """Draws methods and regimes, coloured by the difference to the method corrected.

    Rows are ordered by mean score. A dot marks a cell whose corrected interval does not contain 0.
    A grey cell has no difference. A method without differences is left out.

    Args:
        tables: Rows of `regime_differences` by title, one panel per title.
        path: The file to write or replace, `.svg` or `.png`.

    Raises:
        ParameterError: If the file's name has another ending.
        RunsError: If no method has a difference.
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
    said = f"difference (limits ±{limit:.2f}); dot: nominal interval without 0"
    # As long as the bar.
    rows = sum(table["label"].nunique() for table in shown.values())
    bar.set_label(textwrap.fill(said, max(24, 3 * rows)), fontsize=9)
    # For equal files from equal pictures: a second layout differs in its last digits.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes in figure.axes:
        left, bottom, width, height = (round(each, 4) for each in axes.get_position().bounds)
        axes.set_position((left, bottom, width, height))
    save(figure, path, _DPI)


def symmetric_limit(differences: pd.Series[Any]) -> float:
    """Returns the limit of the colour scale, in steps of .05, that holds 95% of the differences."""
    size = float(differences.abs().quantile(_WITHIN))
    return max(_STEP, math.ceil(round(size / _STEP, 9)) * _STEP)


def _with_differences(table: pd.DataFrame) -> pd.DataFrame:
    """The methods with a difference, as rows by mean score, with row labels."""
    known = table.groupby("method")["difference"].transform("count") > 0
    mean = table.groupby("method")["score"].transform(mean_of_all)
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


OBJECTIVES = (OWN, *SCORES_OF)
_TITLES = {
    OWN: "Each method in its paper's objective",
    "examples": "Objective p_k = n_k / n, the score is sample accuracy",
    "batches": "Objective p_k by batches, the score is sample accuracy",
    "equal": "Objective p_k = 1 / N, the score is user accuracy",
}
_SHARES = {"examples": "n_k / n", "batches": "batches", "equal": "1 / N"}
# Differences at earlier rounds, of the same runs.
EARLIER = "earlier"
# Headings by column of `method_means`; a table of one objective does not name it.
_HEADINGS = {
    "method": "method",
    SHARE: "p_k",
    "client_lr": "client rate",
    "server_lr": "server rate",
    "score": "score",
    "other_score": "other score",
    "corrects": "corrects",
    "difference": "minus that",
    EARLIER: "",
    "to_fedavg": "minus FedAvg",
    "better": "better",
    "worse": "worse",
    "lost": "lost",
    "runs": "runs",
}


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    scores: str = parameter(REQUIRED, "CSV file of tidy_scores", is_path=True)
    objective: str | None = parameter(
        None, "objective to show; default: own, then each of the file", choices=OBJECTIVES
    )
    regimes: str = parameter(
        "availability", "settings whose values are the regimes, separated by commas"
    )
    where: str | None = parameter(
        None, "runs to keep, as SETTING=VALUE; a setting given again allows another value"
    )
    rates: str | None = parameter(
        None, "CSV file of tuned_rates: keep the runs at the rates it chose", is_path=True
    )
    out: str | None = parameter(None, "CSV file to write or replace", is_path=True)
    picture: str | None = parameter(
        None, "picture to write or replace, .svg or .png: methods and regimes", is_path=True
    )


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Writes or prints the comparison."""
    studies, found = _differences(flags)
    if not found:
        raise RunsError(f"no run has the objective {flags.objective}")
    several = len(studies) > 1
    means = {key: method_means(part) for key, part in found.items()}
    if flags.out is not None:
        tables = [
            each.assign(objective=name, **({"task": task} if several else {}))
            for (task, name), each in means.items()
        ]
        write_csv(pd.concat(tables).round(6), flags.out)
        show(f"written: {flags.out}")
    titled = {
        f"{display_of('task', task)}. {_TITLES[name]}" if several else _TITLES[name]: part
        for (task, name), part in found.items()
    }
    if flags.picture is not None:
        draw_differences(titled, Path(flags.picture))
        show(f"written: {flags.picture}")
    if flags.out is None and flags.picture is None:
        dated = _with_earlier(flags, studies, means)
        shown = [
            _table(objective, f"{title}, means over {_regimes(part)}{studies[task].said_at}", each)
            for (title, part), ((task, objective), each) in zip(titled.items(), dated.items())
        ]
        show("\n\n".join([*shown, _note(studies, dated.values())]))


def _differences(
    flags: Flags, round_number: int | None = None
) -> tuple[dict[str, StudyRuns], dict[tuple[str, str], pd.DataFrame]]:
    """The studies by task, and the rows of `regime_differences` by task and objective."""
    studies = read_studies(
        Path(flags.scores), flags.regimes.split(","), flags.where, round_number=round_number
    )
    found = {}
    for task, study in studies.items():
        if flags.rates is not None:
            study = at_tuned_rates(study, Path(flags.rates))
        rows = regime_differences(study)
        parts = {OWN: rows[rows[OWN]]}
        parts.update({name: rows[rows[SHARE] == name] for name in SCORES_OF})
        for objective, part in parts.items():
            if len(part) and flags.objective in (None, objective):
                found[task, objective] = part
    return studies, found


def _with_earlier(
    flags: Flags, studies: Mapping[str, StudyRuns], tables: Mapping[tuple[str, str], pd.DataFrame]
) -> dict[tuple[str, str], pd.DataFrame]:
    """Rows of `method_means` with their differences at earlier rounds, where these are kept.

    A difference over fewer runs is left out.
    """
    kept = runs_where(read_scores(Path(flags.scores)), flags.where)
    before = {}
    for task, study in studies.items():
        last = study.round_number or 0
        runs = kept.loc[(kept["task"] == task) & (kept["round"] < last), "round"].value_counts()
        # The rounds of most runs.
        before[task] = rounds_before(last, runs.index[runs == runs.max()].tolist())
    found = {}
    for number in sorted({number for numbers in before.values() for number in numbers}):
        _, parts = _differences(flags, number)
        for key, part in parts.items():
            for row in method_means(part).to_dict("records"):
                found[key, number, *_run_key(row)] = float(row["difference"])
    done = {}
    for (task, objective), means in tables.items():
        cells = [
            [
                found.get(((task, objective), number, *_run_key(row)), math.nan)
                for number in before[task]
            ]
            for row in means.to_dict("records")
        ]
        if any(math.isfinite(value) for row in cells for value in row):
            told = [
                ", ".join(map(_signed, row)) if any(map(math.isfinite, row)) else "–"
                for row in cells
            ]
            means = means.assign(**{EARLIER: told})
            means.attrs[EARLIER] = f"at {', '.join(map(str, before[task]))}"
        done[task, objective] = means
    return done


def _run_key(row: Mapping[Any, Any]) -> tuple[Any, ...]:
    """What a row of `method_means` at two rounds has in common."""
    return tuple(row.get(name) for name in ("method", SHARE, "corrects", *RATES, "runs"))


def _regimes(differences: pd.DataFrame) -> str:
    number = differences["regime"].nunique()
    return f"{number} regime{'s' * (number > 1)}"


def _table(objective: str, title: str, means: pd.DataFrame) -> str:
    shown = [name for name in _HEADINGS if name in means and (objective == OWN or name != SHARE)]
    rows = [[_cell(name, row) for name in shown] for row in means.to_dict("records")]
    head = [_HEADINGS[name] or means.attrs[name] for name in shown]
    return f"{title}:\n\n{markdown_table(head, rows)}"


def _signed(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:+.3f}"


def _cell(name: str, row: Mapping[Any, Any]) -> str:
    value = row[name]
    if name == SHARE:
        return _SHARES[value]
    if name in RATES:
        return f"{float(value):g}"
    if name in ("score", "other_score"):
        return "–" if math.isnan(value) else f"{value:.3f}"
    if name in ("difference", "to_fedavg"):
        return _signed(value)
    if name in ("better", "worse", EARLIER) and math.isnan(row["difference"]):
        return "–"
    return str(value) or "–"


def _note(tasks: Collection[str], tables: Iterable[pd.DataFrame]) -> str:
    bounds = [f"{bound:.4g}" for bound in sorted(map(guess_loss, tasks)) if math.isfinite(bound)]
    guess = f", or at least {' or '.join(bounds)}, that of a uniform guess" if bounds else ""
    dated = any(EARLIER in table for table in tables)
    return (
        "The column after `minus that` has the same difference at earlier rounds, where all runs "
        "of both have them. "
        * dated
        + "`better` and `worse` count the regimes with that verdict on the paired difference to "
        "the method corrected, after Holm's correction; a family is all "
        "regimes of one method in one objective, so the counts are nominal: nothing corrects over "
        "methods and objectives. The other score is user accuracy where the score "
        "is sample accuracy, and the reverse. A run whose accuracy or loss is not finite counts as "
        f"accuracy 0. `lost` counts runs whose loss is not finite{guess}."
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv))
