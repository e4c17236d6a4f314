"""The course of a comparison: rounds to an accuracy, the lead by round, and both curves.

python -m f3ast_tff.analysis.studies.course --scores analysis/studies/fig2_course/scores.csv
    --rows algorithm,baseline_sampling --targets 0.75,0.8 --minus f3ast:fedavg/with_replacement
    --panels "first:server_lr=1.0;tuned:server_lr=2.0,server_lr=3.0"

One round of a run is a point of a falling or rising lead; this command shows the others.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from f3ast_tff.analysis.command_line import command, require_ending
from f3ast_tff.analysis.compare.cells import only_group, ordered_keys
from f3ast_tff.analysis.compare.pairs import paired
from f3ast_tff.analysis.compare.plan import read_plan, reading_note
from f3ast_tff.analysis.compare.scored import Kept
from f3ast_tff.analysis.compare.times import at
from f3ast_tff.analysis.curves import add_legend, plain, save
from f3ast_tff.analysis.line_styles import Look, literal, styles_of
from f3ast_tff.analysis.method_names import display_of
from f3ast_tff.analysis.texts import interval, markdown_table
from f3ast_tff.analysis.tidy_scores import (
    Key,
    kept_groups,
    read_scores,
    require_score,
    require_setting,
    runs_where,
)
from f3ast_tff.campaigns.study_folders import name_of
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files.messages import show
from f3ast_tff.settings import REQUIRED, parameter
from f3ast_tff.settings.kinds import KINDS

_PANEL_WIDTH, _HEIGHT, _DPI = 4.5, 3.3, 100


@dataclass(frozen=True)
class Flags:
    """Flags of this command; lists are separated by commas."""

    scores: str = parameter(REQUIRED, "CSV file of tidy_scores", is_path=True)
    score: str = parameter("sample_accuracy", "score to show, of the file's")
    rows: str = parameter("algorithm", "settings whose values are the methods")
    panels: str | None = parameter(
        None, "parts with tables and a panel of their own, as TITLE:SETTING=VALUE,...;TITLE:..."
    )
    where: str | None = parameter(None, "runs to keep, as SETTING=VALUE")
    targets: str = parameter("0.75,0.8", "accuracies to reach")
    minus: str | None = parameter(None, "rows to subtract, as A:B for A minus B")
    rounds: str = parameter("100,200,500,1000", "rounds at which differences are shown")
    plan: str | None = parameter(None, "campaign whose plan asks the differences")
    picture: str | None = parameter(None, "picture to write, .svg or .png, no tables", is_path=True)


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Prints the tables, or draws the picture."""
    table = runs_where(read_scores(Path(flags.scores)), flags.where)
    require_score(flags.score, table)
    rows = flags.rows.split(",")
    for name in rows:
        require_setting("rows", name, table)
    parts = {
        title: _methods(kept_groups(runs_where(table, where)), rows)
        for title, where in _panels(flags.panels)
    }
    if flags.picture is not None:
        require_ending("picture", flags.picture, ".svg", ".png")
        save(draw_course(parts, rows, flags.score), Path(flags.picture), _DPI)
        show(f"written: {flags.picture}")
        return
    targets = _numbers("targets", flags.targets)
    rounds = [int(each) for each in _numbers("rounds", flags.rounds)]
    pairs = flags.minus.split(",") if flags.minus else []
    shown = []
    for name, methods in parts.items():
        title = f", {name}" if name else ""
        shown.append(f"Rounds to an accuracy{title}:\n\n{_reached(methods, rows, flags, targets)}")
        if pairs:
            lines = _leads(methods, pairs, flags.score, rounds)
            shown.append(f"Differences in {flags.score.replace('_', ' ')}{title}:\n\n{lines}")
    plan = read_plan(flags.plan) if flags.plan else ()
    name = name_of(Path(flags.scores))
    asked = [reading_note(plan, name, [flags.score], at(round_), pairs) for round_ in rounds]
    note = (
        "The first kept evaluation at or above the accuracy: median over draws of the data, a draw "
        "that never reaches it counted as later than all rounds; in brackets, how many reach it. "
        "95% intervals over draws, not corrected for their number."
    )
    shown.append(" ".join([note, *dict.fromkeys(filter(None, asked))]))
    show("\n\n".join(shown))


Parts = Mapping[str, Mapping[Key, Kept]]


def _panels(text: str | None) -> list[tuple[str, str | None]]:
    """Titles and conditions of the parts; one part without a title by default."""
    if text is None:
        return [("", None)]
    found: list[tuple[str, str | None]] = []
    for part in text.split(";"):
        title, colon, where = part.partition(":")
        if not colon or not where:
            raise ParameterError("panels", text, "must be TITLE:SETTING=VALUE,...;TITLE:...")
        found.append((title.strip(), where.strip()))
    return found


def _methods(groups: Sequence[Kept], rows: Sequence[str]) -> Mapping[Key, Kept]:
    """The runs of each method, in the order of tables."""
    found: dict[Key, list[Kept]] = {}
    for group in groups:
        found.setdefault(tuple(group.settings[name] for name in rows), []).append(group)
    advice = "name it in --rows, --panels or --where"
    return {key: only_group(found[key], "line", advice) for key in ordered_keys(found, rows)}


def rounds_to(group: Kept, score: str, target: float) -> dict[int, float]:
    """Returns the first kept round at which each draw's score is at least `target`; inf if none.

    The score of a draw is the mean over its seeds.
    """
    by_draw: dict[int, list[pd.Series]] = {}
    for pair, course in group.courses.items():
        column = pd.Series(course[score], index=course["round"])
        by_draw.setdefault(pair.draw, []).append(column)
    found = {}
    for draw, columns in by_draw.items():
        mean = pd.concat(columns, axis=1).mean(axis=1, skipna=False)
        there = mean.index[(mean >= target).to_numpy()]
        found[draw] = float(there.min()) if len(there) else np.inf
    return found


def _reached(
    methods: Mapping[Key, Kept], rows: Sequence[str], flags: Flags, targets: Sequence[float]
) -> str:
    lines = []
    for key, group in methods.items():
        cells = []
        for target in targets:
            found = rounds_to(group, flags.score, target)
            values = np.array(list(found.values()))
            # Not the mean of the middle two, which may be infinite.
            median = float(np.sort(values)[(len(values) - 1) // 2])
            last = max(int(course["round"].max()) for course in group.courses.values())
            words = f"{median:.0f}" if np.isfinite(median) else f"> {last}"
            cells.append(f"{words} ({int(np.isfinite(values).sum())} of {len(values)})")
        lines.append((_name(rows, key), *cells))
    return markdown_table(["", *(f"{target:g}" for target in targets)], lines)


def _leads(
    methods: Mapping[Key, Kept], pairs: Sequence[str], score: str, rounds: Sequence[int]
) -> str:
    by_text = {"/".join(filter(None, key)): group for key, group in methods.items()}
    lines = []
    for pair in pairs:
        a, colon, b = pair.partition(":")
        if not colon or not {a, b} <= by_text.keys():
            raise ParameterError("minus", pair, f"must be A:B, rows of {', '.join(by_text)}")
        cells = [
            interval(paired(by_text[a], by_text[b], score, round_).found, 3) for round_ in rounds
        ]
        lines.append((f"{a} − {b}", *cells))
    return markdown_table(["", *(f"round {round_}" for round_ in rounds)], lines)


def _name(rows: Sequence[str], key: Key) -> str:
    """A method in words; a value that is a word needs no setting's name."""
    parts = []
    for name, value in zip(rows, key):
        if name in KINDS:
            parts.append(display_of(name, value))
        elif value:
            words = value.replace("_", " ")
            parts.append(words if words[0].isalpha() else f"{name} {words}")
    return ", ".join(parts)


def draw_course(parts: Parts, rows: Sequence[str], score: str) -> Figure:
    """Draws each method's mean over draws against the round, a panel for each part.

    The band is the 95% interval of the mean over draws, from the normal distribution.
    """
    size = (_PANEL_WIDTH * len(parts), _HEIGHT)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(1, len(parts), squeeze=False, sharey=True)[0]
    keys = list(dict.fromkeys(key for methods in parts.values() for key in methods))
    names = {key: "/".join(filter(None, key)) for key in keys}
    styles = styles_of(names.values())
    looks = {key: Look(*styles[names[key]], _name(rows, key)) for key in keys}
    for panel, (title, methods) in zip(panels, parts.items()):
        for key, group in methods.items():
            columns = [pd.Series(c[score], index=c["round"]) for c in group.courses.values()]
            table = pd.concat(columns, axis=1)
            mean, error = table.mean(axis=1), table.sem(axis=1)
            look = looks[key]
            style = {"color": look.color, "linestyle": look.dashes, "label": literal(look.label)}
            panel.plot(mean.index, mean, **style)
            low, high = (mean - 1.96 * error).clip(0), (mean + 1.96 * error).clip(upper=1)
            panel.fill_between(mean.index, low, high, color=look.color, alpha=0.15, linewidth=0)
        panel.set_title(literal(title), fontsize=10)
        panel.set_xlabel("round")
        plain(panel)
    panels[0].set_ylabel(score.replace("_", " "))
    add_legend(figure, looks.values())
    return figure


def _numbers(flag: str, text: str) -> list[float]:
    try:
        return [float(each) for each in text.split(",")]
    except ValueError as error:
        raise ParameterError(flag, text, "must be numbers, separated by commas") from error


if __name__ == "__main__":
    sys.exit(main(sys.argv))
