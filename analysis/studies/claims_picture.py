"""A picture of the papers' claims: differences in our kept runs, beside the printed ones.

python -m f3ast_tff.analysis.studies.claims_picture --out docs/pictures/paper_claims.svg
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from f3ast_tff.analysis.command_line import command, out_flag, require_ending
from f3ast_tff.analysis.compare.cells import When, chosen, only_group
from f3ast_tff.analysis.compare.paired_difference import PairedDifference
from f3ast_tff.analysis.compare.pairs import paired
from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.curves import save
from f3ast_tff.analysis.method_names import display_of
from f3ast_tff.analysis.report.published_tables import paper_values
from f3ast_tff.analysis.runs import SCORES
from f3ast_tff.analysis.tidy_scores import kept_groups, read_scores, runs_where
from f3ast_tff.campaigns.study_folders import declared

_OURS, _PRINTED = "#D55E00", "#0072B2"
# Inches.
_WIDTH, _ROW, _EXTRA = 8.6, 0.2, 1.0
_TITLE = 1.4  # rows that a group's title takes


@dataclass(frozen=True)
class Group:
    """Claims of one figure or table: a is better than b, in each column.

    Attributes:
        title: Figure or table, and the experiment.
        scores: Kept scores.
        pairs: Methods a and b, `/` between the values of `rows`.
        rows: Settings that tell the methods.
        where: Runs that count; see `runs_where`.
        across: The setting whose values are the columns; `None` for a single one.
        labels: Columns in order, by value of `across`: their names in the picture.
        when: A round, or one of `KEPT_PERIODS`.
        printed: The paper's file and its column across; `None` if it prints no numbers.
        task: The task, as the paper's file names it.
        place: Place among the groups.
    """

    title: str
    scores: Path
    pairs: Sequence[Sequence[str]] = (("f3ast", "fedavg"),)
    rows: Sequence[str] = ("algorithm",)
    where: str | None = None
    across: str | None = None
    labels: Sequence[Sequence[str]] = (("", ""),)
    when: When = "final"
    printed: Sequence[str] | None = None
    task: str = "synthetic"
    place: int = 0


@dataclass(frozen=True)
class Row:
    """A claim: its label, our difference, and the printed one, if any."""

    label: str
    found: PairedDifference
    printed: float | None


_FORMS = {"fedavg/textbook": " without replacement", "fedavg/paper": " with replacement"}


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    out: str = out_flag("picture, .svg or .png")


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Draws the picture."""
    draw_claims(Path(flags.out))


def declared_groups() -> list[Group]:
    """Returns the groups that studies declare as `[[claims]]`, in their order."""
    return [Group(scores=folder / "scores.csv", **table) for folder, table in declared("claims")]


def rows_of(group: Group) -> list[Row]:
    """Returns the claims of a group with the differences of its kept runs.

    Raises:
        RunsError: If the file lacks runs.
    """
    kept = kept_groups(runs_where(read_scores(group.scores), group.where))
    printed = {} if group.printed is None else paper_values(group.printed[0], group.printed[1])
    columns = {str(at): at for _, at, _ in printed}
    rows = []
    for value, name in group.labels:
        cells = {} if group.across is None else {group.across: value}
        at = columns.get(value, columns.get(value.removesuffix(".0")))
        for a, b in group.pairs:
            found = (
                chosen(kept, {**cells, **dict(zip(group.rows, each.split("/")))}) for each in (a, b)
            )
            one, other = (only_group(runs, "claim", "give where") for runs in found)
            difference = paired(one, other, SCORES[0], group.when).found
            if difference is None:
                raise RunsError(f"{group.scores}: a claim needs two common runs")
            names = [display_of("algorithm", each.split("/")[0]) for each in (a, b)]
            methods = f"{names[0]} − {names[1]}{_FORMS.get(b, '')}"
            label = ", ".join(filter(None, [methods, name]))
            ours, theirs = (printed.get((group.task, at, each)) for each in (a, b))
            lead = None if ours is None or theirs is None else round(ours - theirs, 6)
            rows.append(Row(label, difference, lead))
    return rows


def draw_claims(path: Path) -> None:
    """Draws the claims as a forest plot, ours with a 95% interval over draws of the data.

    Raises:
        ParameterError: If the file's name does not end in `.svg` or `.png`.
        RunsError: If a kept file lacks runs.
        OSError: If the file cannot be written.
    """
    require_ending("out", path, ".svg", ".png")
    parts = [(group, rows_of(group)) for group in declared_groups()]
    height = sum(_TITLE + len(rows) for _, rows in parts)
    figure = Figure(figsize=(_WIDTH, _EXTRA + _ROW * height))
    axes = figure.subplots()
    along = axes.get_yaxis_transform()
    ticks: list[tuple[float, str]] = []
    y = 0.0
    for group, rows in parts:
        draws = {row.found.num_draws for row in rows}
        title = f"{group.title}; {max(draws)} draws"
        axes.text(-0.25, y, title, transform=along, fontsize=9, weight="bold")
        y += _TITLE - 0.4
        for row in rows:
            _draw(axes, y, row)
            ticks.append((y, row.label))
            y += 1
        y += 0.4
    axes.set_yticks([place for place, _ in ticks], [label for _, label in ticks], fontsize=8)
    axes.set_ylim(y - 0.4, -1)
    axes.axvline(0, color="#444444", linewidth=0.8)
    axes.set_xlabel("difference in sample accuracy", fontsize=9)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=8)
    axes.spines[["left", "right", "top"]].set_visible(False)
    axes.grid(axis="x", linewidth=0.4)
    axes.set_axisbelow(True)
    axes.legend(
        [axes.plot([], [], "o-", color=_OURS)[0], axes.plot([], [], "D", color=_PRINTED)[0]],
        ["ours, uncorrected 95% interval over draws of the data", "printed in the paper"],
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=2,
        frameon=False,
        fontsize=9,
    )
    figure.subplots_adjust(
        left=0.36, right=0.98, top=1 - 0.35 / figure.get_figheight(), bottom=0.07
    )
    save(figure, path, dpi=100)


def _draw(axes: Axes, y: float, row: Row) -> None:
    axes.plot([row.found.low, row.found.high], [y, y], color=_OURS, linewidth=1.6)
    axes.plot(row.found.mean, y, "o", color=_OURS, markersize=4.5)
    if row.printed is not None:
        axes.plot(row.printed, y, "D", color=_PRINTED, markersize=4.5)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
