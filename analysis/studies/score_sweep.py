"""Draws kept scores against a setting, a line per algorithm with 95% intervals over draws.

python -m f3ast_tff.analysis.studies.score_sweep --scores analysis/studies/cafed_fig4b/scores.csv
    --x availability_history --log --out analysis/studies/cafed_fig4b/picture.png

An algorithm without the setting is a level line.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from f3ast_tff.analysis.command_line import command, out_flag, require_ending
from f3ast_tff.analysis.compare.cells import only_group, ordered_keys
from f3ast_tff.analysis.compare.paired_difference import PairedDifference, mean_interval
from f3ast_tff.analysis.compare.scored import Kept, RunsError
from f3ast_tff.analysis.compare.times import PERIODS
from f3ast_tff.analysis.curves import add_legend, plain, save
from f3ast_tff.analysis.line_styles import Look, literal, styles_of
from f3ast_tff.analysis.method_names import display_of
from f3ast_tff.analysis.run_groups import partition
from f3ast_tff.analysis.tidy_scores import (
    kept_groups,
    read_scores,
    require_score,
    require_setting,
    runs_where,
)
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files.messages import show
from f3ast_tff.files.progress import say
from f3ast_tff.settings import REQUIRED, parameter

_LINE = "algorithm"
_SIZE, _DPI = (7.0, 4.6), 110


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    scores: str = parameter(REQUIRED, "CSV file of tidy_scores", is_path=True)
    x: str = parameter(REQUIRED, "setting of the horizontal axis, whose values are numbers")
    score: str = parameter("sample_accuracy", "score to draw, of the file's")
    where: str | None = parameter(None, "runs to keep, as SETTING=VALUE")
    period: str = parameter("final", "evaluations that count", choices=PERIODS)
    log: bool = parameter(False, "logarithmic horizontal axis")
    out: str = out_flag("PNG, SVG or PDF")


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Draws the picture."""
    require_ending("out", flags.out, ".png", ".svg", ".pdf")
    table = runs_where(read_scores(Path(flags.scores)), flags.where)
    require_score(flags.score, table)
    require_setting("x", flags.x, table)
    lines = sweep(kept_groups(table), flags.x, flags.score, flags.period)
    for name, line in lines.items():
        for value, found in line.items():
            if flags.log and value <= 0:
                raise ParameterError("log", True, f"must not be given with {flags.x} {value:g}")
            if not math.isfinite(found.mean):
                where = "" if math.isnan(value) else f" at {flags.x} {value:g}"
                say(f"{name}{where}: a {flags.score} is not finite, no point")
    save(draw(lines, flags.x, flags.score, log=flags.log), Path(flags.out), _DPI)
    show(flags.out)


def sweep(
    groups: Sequence[Kept], x: str, score: str, period: str
) -> dict[str, dict[float, PairedDifference]]:
    """Returns the mean score of each algorithm at each value of a setting, with its interval.

    Args:
        groups: Kept runs, of `tidy_scores.kept_groups`.
        x: The setting.
        score: Score to average, of the runs.
        period: Time of the score, of `PERIODS`.

    Returns:
        Means by algorithm and rising value; the value is NaN for an algorithm without the setting.

    Raises:
        ParameterError: If a value is not a number.
        RunsError: If runs of one point differ in another setting, a point has one run, or an
            algorithm has runs with and without the setting.
    """
    found: dict[str, dict[float, PairedDifference]] = {}
    points = {
        (members[0].algorithm, members[0].settings[x]): members
        for members in partition(groups, [_LINE, x])
    }
    for algorithm, text in ordered_keys(points, [_LINE, x]):
        scores = only_group(points[algorithm, text], "point", "give --where").at(score, period)
        if len(scores) < 2:
            raise RunsError(f"{algorithm}, {x} {text}: one run, an interval needs two")
        try:
            value = float(text) if text else math.nan
        except ValueError as error:
            raise ParameterError("x", x, f"must have numbers as values, not {text}") from error
        line = found.setdefault(algorithm, {})
        line[value] = mean_interval(scores)
        if len(line) > 1 and any(map(math.isnan, line)):
            raise RunsError(f"{algorithm} has runs with and without {x}; give --where")
    return found


def draw(
    lines: Mapping[str, Mapping[float, PairedDifference]], x: str, score: str, *, log: bool
) -> Figure:
    """Draws the result of `sweep`."""
    figure = Figure(figsize=_SIZE, layout="constrained")
    panel = figure.subplots()
    values = sorted({v for line in lines.values() for v in line if not math.isnan(v)})
    styles = styles_of(lines)
    looks = {name: Look(*styles[name], display_of(_LINE, name)) for name in lines}
    for name, line in lines.items():
        look, level = looks[name], any(map(math.isnan, line))
        places = values if level else list(line)
        points = [*line.values()] * (len(values) if level else 1)
        means, low, high = ([getattr(each, n) for each in points] for n in ("mean", "low", "high"))
        panel.plot(
            places,
            means,
            color=look.color,
            linestyle=look.dashes,
            marker="" if level and len(values) > 1 else look.marker,
            markersize=5,
            linewidth=1.6,
            label=literal(look.label),
        )
        panel.fill_between(places, low, high, color=look.color, alpha=0.18, linewidth=0)
        if len(places) == 1:
            panel.vlines(places, low, high, color=look.color, alpha=0.5)
    if log:
        panel.set_xscale("log")
    panel.set_xlabel(x.replace("_", " "))
    panel.set_ylabel(f"{score.replace('_', ' ')}, 95% intervals")
    plain(panel)
    add_legend(figure, looks.values())
    return figure


if __name__ == "__main__":
    sys.exit(main(sys.argv))
