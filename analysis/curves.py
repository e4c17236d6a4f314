"""Accuracy against the round, simulated time or bytes, as a picture."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator

from f3ast_tff.analysis.compare.scored import Pair, RunsError, Scored, varying
from f3ast_tff.analysis.compare.times import CLOCK, Course
from f3ast_tff.analysis.line_styles import Look, literal, looks_of
from f3ast_tff.analysis.run_groups import CONDITION, G, RunGroup, describe, partition
from f3ast_tff.analysis.texts import counted
from f3ast_tff.files.atomic import atomic_write

# Labels of axes by name.
X_AXES = {
    "rounds": "round",
    "simulated_seconds": "simulated time in seconds",
    "bytes": "bytes sent both ways",
}


def has_clock(group: Scored) -> bool:
    """Whether all runs of a group have a clock."""
    return all(np.isfinite(_values(course, CLOCK)).all() for course in group.courses.values())


def _values(course: Course, x: str) -> np.ndarray:
    """A run's x values, `[n]`: a column, NaN where there is none, or sums of bytes."""
    missing = np.full(len(course["round"]), np.nan)
    if x == "bytes":
        return course.get("bytes_down", missing) + course.get("bytes_up", missing)
    return course.get(x, missing)


def _finite_values(group: Scored, pair: Pair, x: str) -> np.ndarray:
    values = _values(group.courses[pair], x).astype(np.float64)
    if not np.isfinite(values).all():
        name = group.name_of(pair)
        raise RunsError(f"{name} has no {x} to draw against: no clock, see --delivery")
    return values


DPI = 150
WIDTH = 10.0
ROW_HEIGHT = 3.4
EXTRA_HEIGHT = 1.1
_MAX_ROWS = 20
_MARKERS = 5
# Points of the mean of lines that have times of their own.
_COMMON_TIMES = 200
_TITLE_WIDTH = 95
_LEGEND_COLUMNS = 5
_CHARACTERS_PER_INCH = 12
_LEGEND_SIZE = 10.0


@dataclass(frozen=True, eq=False)
class Trace:
    """A drawn line: x, y and spread, each `[n]`; the spread is `None` for one run.

    `runs` names the runs behind the mean: a run's folder, or the number of draws or seeds.
    """

    label: str
    runs: str
    x: np.ndarray
    y: np.ndarray
    spread: np.ndarray | None = None


def draw_curves(
    groups: Sequence[RunGroup],
    names: Sequence[str],
    path: Path | None,
    looks: Mapping[RunGroup, Look] | None = None,
    num_unfinished: int = 0,
    x: str = "rounds",
    score: str | None = None,
) -> Figure:
    """Draws accuracy (loss, if labels are values) of samples and users, a row for each condition.

    A line is the mean over an algorithm's draws of the data, of each draw's mean over its seeds.
    The band is one standard deviation over draws to each side. With one draw both are over its
    seeds. The title gives the number of unfinished runs that were left out.

    Args:
        groups: Finished runs, of `arranged`.
        names: The settings of their conditions.
        path: The picture file to write or replace, in the format of its ending; on an error it
            stays the same. `None` for no file.
        looks: Looks of the lines; by default the look of each algorithm. Groups of the same
            condition and algorithm must look different.
        num_unfinished: Number of unfinished runs.
        x: Horizontal axis, one of `X_AXES`.
        score: Score to draw instead, such as `sample_loss`: of samples and users if both have it.

    Raises:
        RunsError: If there are too many conditions, or a run lacks `x`.
        OSError: If the file cannot be written.
    """
    looks = looks_of(groups) if looks is None else looks
    rows = partition(groups, names)
    if len(rows) > _MAX_ROWS:
        raise RunsError(f"{len(rows)} conditions, one picture holds {_MAX_ROWS}; give fewer runs")

    labels = list(dict.fromkeys(look.label for look in looks.values()))
    legend_rows = -(-len(labels) // legend_columns(labels))
    figure = Figure(
        figsize=(WIDTH, EXTRA_HEIGHT + ROW_HEIGHT * len(rows) + 0.25 * (legend_rows - 1)),
        layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.1),
    )
    columns = [_scores(members, score) for members in rows]
    panels = figure.subplots(len(rows), len(columns[0]), squeeze=False)
    differing = varying(groups, names)
    for row, members, scores in zip(panels, rows, columns):
        for panel, name in zip(row, scores):
            draw_panel(panel, members, name, looks, x)
            panel.set_ylabel(f"test {name.replace('_', ' ')}")
            said = describe(members[0].condition(differing), differing)
            panel.set_title(literal(_wrap(said, 2)), fontsize="medium")
    for panel in panels[-1]:
        panel.set_xlabel(X_AXES[x])
    figure.suptitle(literal(_title(groups, names, num_unfinished)), fontsize="medium")
    add_legend(figure, looks.values())
    if path is not None:
        save(figure, path)
    return figure


def _scores(groups: Sequence[RunGroup], score: str | None) -> list[str]:
    """The scores of a row's panels."""
    if score is None:
        accuracy = all("sample_accuracy" in group.score_names for group in groups)
        score = "sample_accuracy" if accuracy else "sample_loss"
    kind, _, rest = score.partition("_")
    return [f"sample_{rest}", f"user_{rest}"] if kind in ("sample", "user") else [score]


def draw_panel(
    panel: Axes, groups: Sequence[G], column: str, looks: Mapping[G, Look], x: str = "rounds"
) -> list[Trace]:
    """Draws a score, or another column, against one of `X_AXES`: a line and its band per group."""
    traces = []
    for number, group in enumerate(groups):
        look, trace = looks[group], trace_of(group, column, looks[group].label, x)
        every = -(-len(trace.x) // _MARKERS)
        panel.plot(
            trace.x,
            trace.y,
            color=look.color,
            linestyle=look.dashes,
            marker=look.marker,
            # Markers of different algorithms are at different rounds.
            markevery=(number % every, every),
            markersize=5,
            linewidth=1.8,
            label=literal(look.label),
        )
        if trace.spread is not None:
            low, high = trace.y - trace.spread, trace.y + trace.spread
            if column.endswith("accuracy"):
                low, high = np.clip((low, high), 0, 1)
            panel.fill_between(trace.x, low, high, color=look.color, alpha=0.13, linewidth=0)
        traces.append(trace)
    plain(panel)
    bins = 8 if x == "rounds" else 5
    panel.xaxis.set_major_locator(MaxNLocator(nbins=bins, integer=True, steps=[1, 2, 5, 10]))
    panel.set_xlim(left=0)
    return traces


def trace_of(group: Scored, column: str, label: str, x: str = "rounds") -> Trace:
    """Returns a group's line of a score, or of another column, against one of `X_AXES`."""
    scores = _by_draw(group, column, x)
    spread = None
    if scores.shape[1] > 1:
        spread = scores.std(axis=1, ddof=1, skipna=False).to_numpy()
    pairs = [*group.courses]
    one = Path(group.name_of(pairs[0])).name
    runs = one if len(pairs) == 1 else f"mean of {counted([pairs])}"
    mean = scores.mean(axis=1, skipna=False)
    return Trace(label, runs, mean.index.to_numpy(), mean.to_numpy(), spread)


def _by_draw(group: Scored, column: str, x: str) -> pd.DataFrame:
    """A score by x: a column per draw, of means over seeds; with one draw a column per seed.

    Runs of one group have the same rounds, but times of their own: their scores are read off their
    lines at common times, which every run has reached.
    """
    at = {} if x == "rounds" else {p: _finite_values(group, p, x) for p in group.courses}
    times = next(iter(at.values()), np.zeros(0))
    if len(at) > 1:
        begin, end = max(each[0] for each in at.values()), min(each[-1] for each in at.values())
        times = np.linspace(begin, max(begin, end), _COMMON_TIMES)
    by_draw: dict[int, list[pd.Series[Any]]] = {}
    for pair in sorted(group.courses):
        course = group.courses[pair]
        scores = pd.Series(course[column], index=course["round"])
        if at:
            scores = pd.Series(np.interp(times, at[pair], scores), index=times)
        by_draw.setdefault(pair.draw, []).append(scores)
    draws = list(by_draw.values())
    if len(draws) == 1:
        return pd.concat(draws[0], axis=1)
    return pd.concat([pd.concat(d, axis=1).mean(axis=1, skipna=False) for d in draws], axis=1)


def plain(panel: Axes) -> None:
    """Gives a panel a light grid and no frame."""
    panel.grid(alpha=0.3)
    panel.spines[["top", "right"]].set_visible(False)


def save(figure: Figure, path: Path, dpi: int = DPI) -> None:
    """Writes or replaces a picture, in the format of the file's ending.

    The same figure gives the same file.

    Raises:
        OSError: If the file cannot be written; it then stays the same.
    """
    kind = path.suffix[1:].lower() or "png"
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with rc_context({"svg.hashsalt": "f3ast"}), atomic_write(path, "wb") as file:
        figure.savefig(file, format=kind, dpi=dpi, metadata=metadata)


def add_legend(figure: Figure, looks: Iterable[Look], loc: Any = "outside lower center") -> None:
    """Adds a legend with every line once, in the order of `looks`, by default below all panels."""
    lines: dict[str, Any] = {}
    for panel in figure.axes:
        for handle, label in zip(*panel.get_legend_handles_labels()):
            lines.setdefault(label, handle)
    names = dict.fromkeys(literal(look.label) for look in looks)
    order = [name for name in names if name in lines]
    # A single column of labels that are too long is smaller.
    longest = 10 + max(map(len, order), default=0)
    fitting = _CHARACTERS_PER_INCH * figure.get_figwidth() / longest
    figure.legend(
        [lines[name] for name in order],
        order,
        loc=loc,
        ncols=legend_columns(order, figure.get_figwidth()),
        frameon=False,
        handlelength=4,
        fontsize=_LEGEND_SIZE * min(1.0, fitting),
    )


def legend_columns(labels: Sequence[str], width: float = WIDTH) -> int:
    """Returns the number of legend columns that fit a width in inches, given the labels."""
    fitting = int(_CHARACTERS_PER_INCH * width) // (10 + max(map(len, labels), default=0))
    return max(1, min(len(labels), fitting, _LEGEND_COLUMNS))


def _title(groups: Sequence[RunGroup], names: Sequence[str], num_unfinished: int) -> str:
    shared = [n for n in CONDITION if n in names and n not in varying(groups, names)]
    constant = describe(groups[0].condition(shared), shared)
    several = any(len(group.runs) > 1 for group in groups)
    over = counted(group.runs for group in groups)
    parts = [f"mean of {over}, band: one standard deviation" if several else over]
    if num_unfinished:
        parts.append(f"{num_unfinished} unfinished left out")
    return "\n".join([*([_wrap(constant, 1)] if constant else []), ", ".join(parts)])


def _wrap(text: str, columns: int) -> str:
    return "\n".join(textwrap.wrap(text, _TITLE_WIDTH // columns))
