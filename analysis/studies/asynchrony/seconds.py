"""Prints scores at equal seconds and seconds until a score, or draws accuracy over seconds.

python -m f3ast_tff.analysis.studies.asynchrony.seconds
    --scores analysis/studies/asynchrony/scores.csv
    --picture analysis/studies/asynchrony/picture.png
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from matplotlib.figure import Figure

from f3ast_tff.analysis.command_line import command, require_ending
from f3ast_tff.analysis.compare.cells import chosen
from f3ast_tff.analysis.compare.equal_seconds import arrived
from f3ast_tff.analysis.compare.scored import Kept, summarised
from f3ast_tff.analysis.compare.times import CLOCK, Time
from f3ast_tff.analysis.curves import add_legend, draw_panel, plain, save
from f3ast_tff.analysis.line_styles import Look, literal, styles_of
from f3ast_tff.analysis.method_names import display_of
from f3ast_tff.analysis.texts import markdown_table
from f3ast_tff.analysis.tidy_scores import kept_groups, read_scores
from f3ast_tff.files.messages import show
from f3ast_tff.settings import REQUIRED, parameter

# End of the comparison, and the spread of measured phones.
SECONDS, PHONES = 300.0, "0.783"
# User accuracy to reach.
REACH = 0.6
# What waits in the synchronous runs, by their number of rounds.
WAITING = {"200": "synchronous", "280": "over-commitment"}
_SPREAD = "device_example_spread"
_END = Time(seconds=SECONDS)


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    scores: str = parameter(REQUIRED, "CSV file of the study's scores", is_path=True)
    picture: str | None = parameter(None, "picture to write, .png or .svg", is_path=True)


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Prints the table or draws the picture."""
    groups = kept_groups(read_scores(Path(flags.scores)))
    if flags.picture is None:
        show(table_of(groups))
        return
    require_ending("picture", flags.picture, ".png", ".svg")
    save(drawn(groups), Path(flags.picture))
    show(f"written: {flags.picture}")


def table_of(groups: Sequence[Kept]) -> str:
    """Returns means over draws by method and spread of speeds, as a Markdown table.

    A cell holds the user accuracy after `SECONDS`, the seconds until `REACH`, of which a run that
    does not have it counts as `SECONDS`, and the number of runs that have it.
    """
    until = Time(seconds=SECONDS, reach=REACH)
    cells: dict[str, dict[str, str]] = {}
    for group in groups:
        accuracy, seconds = (
            summarised(group.at("user_accuracy", time)).mean for time in (_END, until)
        )
        there = arrived(group, "user_accuracy", until)
        cell = f"{accuracy:.3f}, {seconds:.0f} s, {there}"
        cells.setdefault(_name(group), {})[group.settings[_SPREAD]] = cell
    spreads = list(next(iter(cells.values())))
    rows = [[name, *(of_method[each] for each in spreads)] for name, of_method in cells.items()]
    return markdown_table(["", *(f"spread {each}" for each in spreads)], rows)


def drawn(runs: Sequence[Kept]) -> Figure:
    """Returns the picture: at the left over seconds for phones, at the right at `SECONDS`."""
    groups = [_until(SECONDS, group) for group in runs]
    names = list(dict.fromkeys(map(_name, groups)))
    styles = styles_of(names)
    looks = {group: Look(*styles[_name(group)], _name(group)) for group in groups}
    figure = Figure(figsize=(10, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    draw_panel(left, chosen(groups, {_SPREAD: PHONES}), "user_accuracy", looks, CLOCK)
    left.set_xlabel("simulated seconds")
    left.set_ylabel("test user accuracy")
    left.set_title(f"devices as unlike as phones ({PHONES})", fontsize="medium")
    for name in names:
        own = [group for group in groups if _name(group) == name]
        look = looks[own[0]]
        right.plot(
            [float(group.settings[_SPREAD]) for group in own],
            [summarised(group.at("user_accuracy", _END)).mean for group in own],
            color=look.color,
            linestyle=look.dashes,
            marker=look.marker,
            label=literal(look.label),
        )
    right.set_xlabel("spread of the devices' speeds (sd of the logarithm)")
    right.set_title(f"after {SECONDS:g} simulated seconds", fontsize="medium")
    plain(right)
    add_legend(figure, [looks[group] for group in groups])
    return figure


def _until(seconds: float, group: Kept) -> Kept:
    """The evaluations up to a time."""
    courses = {
        pair: {name: values[course[CLOCK] <= seconds] for name, values in course.items()}
        for pair, course in group.courses.items()
    }
    return replace(group, courses=courses)


def _name(group: Kept) -> str:
    name = display_of("algorithm", group.algorithm)
    name = {"FedVARP": "FedVARP (CA2FL)", "MIFA": "MIFA (ACE)", "Uniform": "FedAvg"}.get(name, name)
    waiting = WAITING.get(group.setting("rounds"))
    return name if waiting is None else f"{name}, {waiting}"


if __name__ == "__main__":
    sys.exit(main(sys.argv))
