"""Accuracy of clients by how often they are there, and over the rounds, for light and dark pages.

The clients of each run are ranked by the share of rounds in which they are available, or by the
typical seconds of their device, and divided into groups of equal size. Runs need client scores and
their masks, or a delivery with a clock: `--client_scores --write_masks=npz`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from scipy import stats  # type: ignore[import-untyped]

from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.curves import save
from f3ast_tff.analysis.line_styles import literal, on_dark
from f3ast_tff.availability.logs.mask_files import read_masks
from f3ast_tff.core.errors import DataError
from f3ast_tff.records.outputs import masks_there, read_client_scores
from f3ast_tff.records.results import read_selection, read_summary

# Groups of clients, from the rarest to the most present.
GROUPS = 5
# Part of the rounds at which the right panel is drawn first; then at the end.
EARLY = 0.2
_SIZE = (7.4, 3.2)
_COLOURS = {"light": "#24292f", "dark": "#e6edf3"}
_GRID = {"light": "#d0d7de", "dark": "#3d444d"}
# The colours of F3AST, FedAvg and the plain mean in `line_styles`, then a further one.
_LINES = ("#D55E00", "#0072B2", "#6E7781", "#009E73")
# Title of the picture.
WAITS = "Who waits longest for an accurate model?"
_MARKERS = ("^", "o", "s", "D")
_LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class ByPresence:
    """Accuracy of groups of clients over the rounds, for one method.

    Attributes:
        presence: Mean share of rounds in which the clients of a group are available, in [0, 1], or
            mean typical seconds of their devices, `float64 [GROUPS]`, rising.
        rounds: Evaluated rounds, `int64 [T]`, rising.
        accuracy: Mean accuracy of a group's clients, by run and round, in [0, 1],
            `float64 [R, T, GROUPS]`.
        fewest_scored: Number of clients with a test example, in the run with the fewest.
        num_clients: Number of clients N.
        by_seconds: Whether clients are ranked by seconds.
    """

    presence: np.ndarray
    rounds: np.ndarray
    accuracy: np.ndarray
    fewest_scored: int
    num_clients: int
    by_seconds: bool = False

    @property
    def rarest(self) -> np.ndarray:
        """Accuracy of the group that is there least, `float64 [R, T]`."""
        return self.accuracy[:, :, 0]


def by_presence(folders: Sequence[Path]) -> ByPresence:
    """Reads finished runs of one method.

    Args:
        folders: Folders of runs that differ in their draws, at least one.

    Raises:
        RunsError: If a run lacks masks or scores of its clients, a file of them is damaged, or runs
            were evaluated in other rounds.
    """
    return _joined(folders, [_of_run(folder, by_seconds=False) for folder in folders])


def by_speed(folders: Sequence[Path]) -> ByPresence:
    """Reads finished runs of one method; clients are ranked by `client_seconds`, the fastest first.

    Args:
        folders: Folders of runs that differ in their draws, at least one.

    Raises:
        RunsError: If a run lacks scores of its clients, its delivery has no clock, a file is
            damaged, or runs were evaluated in other rounds.
    """
    return _joined(folders, [_of_run(folder, by_seconds=True) for folder in folders])


def margin(values: np.ndarray) -> np.ndarray:
    """Returns half the width of the 95% interval over runs, of values `[R, ...]`; 0 for one run."""
    runs = len(values)
    if runs < 2:
        return np.zeros(values.shape[1:])
    error = values.std(axis=0, ddof=1) / np.sqrt(runs)
    return error * float(stats.t.ppf((1 + _LEVEL) / 2, runs - 1))


def meeting(a: ByPresence, b: ByPresence) -> int | None:
    """Returns the round from which a's rarest clients are no longer shown to be ahead of b's.

    Args:
        a: A method.
        b: Another one, whose runs have the same draws and rounds in the same order.

    Returns:
        The first evaluated round from which on the 95% intervals of a - b, over draws, contain 0;
        `None` if the last one does not.
    """
    difference = a.rarest - b.rarest
    ahead = difference.mean(axis=0) - margin(difference) > 0
    if ahead[-1]:
        return None
    last = int(np.flatnonzero(ahead)[-1]) + 1 if ahead.any() else 0
    return int(a.rounds[last])


def _joined(folders: Sequence[Path], found: Sequence[ByPresence]) -> ByPresence:
    first = found[0]
    for folder, each in zip(folders, found):
        if each.rounds.tolist() != first.rounds.tolist():
            raise RunsError(f"{folder} was evaluated in other rounds than {folders[0]}")
    return ByPresence(
        np.mean([each.presence for each in found], axis=0),
        rounds=first.rounds,
        accuracy=np.concatenate([each.accuracy for each in found]),
        fewest_scored=min(each.fewest_scored for each in found),
        num_clients=first.num_clients,
        by_seconds=first.by_seconds,
    )


def _of_run(folder: Path, by_seconds: bool) -> ByPresence:
    lacks = "a delivery with a clock" if by_seconds else "masks (--write_masks)"
    try:
        scores = read_client_scores(folder)
        if by_seconds:
            presence = read_selection(folder, read_summary(folder)).get("client_seconds")
        else:
            masks = masks_there(folder)
            presence = read_masks(masks[0]).mean() if masks else None
    except (DataError, OSError, ValueError) as error:
        raise RunsError(f"damaged run: {error}") from error
    if presence is None or not scores:
        raise RunsError(f"{folder} lacks client scores (--client_scores) or {lacks}")
    rounds = np.array(sorted(scores))
    accuracy = np.stack([scores[number]["accuracy"] for number in rounds.tolist()])
    if accuracy.shape[1] != len(presence):
        raise RunsError(f"{folder}: {accuracy.shape[1]} test clients, {len(presence)} train")
    # A client without test examples has no accuracy.
    scored = np.flatnonzero(np.isfinite(accuracy[-1]))
    ranked = scored[np.argsort(presence[scored], kind="stable")]
    groups = np.array_split(ranked, GROUPS)
    return ByPresence(
        np.array([presence[group].mean() for group in groups]),
        rounds=rounds,
        accuracy=np.stack([accuracy[:, group].mean(axis=1) for group in groups], axis=1)[None],
        fewest_scored=len(scored),
        num_clients=accuracy.shape[1],
        by_seconds=by_seconds,
    )


def presence_figure(
    methods: Mapping[str, ByPresence], title: str, colours: Sequence[str]
) -> Figure:
    """Returns the picture for light pages, see `draw_presence`; a colour per method."""
    return _figure(methods, title, colours, "light")


def draw_presence(methods: Mapping[str, ByPresence], title: str, path: Path) -> list[Path]:
    """Draws the rarest clients over the rounds, and all groups early and at the end.

    Args:
        methods: At most four methods by name, in the order of the legend; the first stands out.
        title: Text above the panels.
        path: Picture for light pages; the one for dark pages has `_dark` after its name.

    Returns:
        Both files, on transparent ground.

    Raises:
        OSError: If a file cannot be written.
    """
    written = []
    for ground, ending in (("light", ""), ("dark", "_dark")):
        to = path.with_name(f"{path.stem}{ending}{path.suffix}")
        with rc_context({"savefig.transparent": True}):
            save(_figure(methods, title, _LINES, ground), to)
        written.append(to)
    return written


def _figure(
    methods: Mapping[str, ByPresence], title: str, colours: Sequence[str], ground: str
) -> Figure:
    figure = Figure(figsize=_SIZE, layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    names, text = list(methods), _COLOURS[ground]
    lines = [on_dark(each) if ground == "dark" else each for each in colours]
    # The first is drawn last, above the others.
    for number, name in reversed([*enumerate(names)]):
        found, colour = methods[name], lines[number]
        width = 2.4 if number == 0 else 1.6
        mean, half = found.rarest.mean(axis=0), margin(found.rarest)
        left.plot(found.rounds, mean, color=colour, linewidth=width, label=literal(name))
        low, high = (np.clip(mean + sign * half, 0, 1) for sign in (-1, 1))
        left.fill_between(found.rounds, low, high, color=colour, alpha=0.15, linewidth=0)
        early = int(np.abs(found.rounds - EARLY * found.rounds[-1]).argmin())
        # Beside each other, so that the intervals of one group can be told apart.
        beside = found.presence + 0.006 * (number - (len(names) - 1) / 2)
        for place, style, alpha in ((early, "--", 0.75), (-1, "-", 1.0)):
            values = found.accuracy[:, place]
            right.errorbar(
                beside,
                values.mean(axis=0),
                margin(values),
                color=colour,
                alpha=alpha,
                marker=_MARKERS[number],
                markersize=5,
                linestyle=style,
                linewidth=width,
                elinewidth=1.0,
            )
    first = methods[names[0]]
    early = int(np.abs(first.rounds - EARLY * first.rounds[-1]).argmin())
    _meetings(left, methods, lines, text)
    left.set_title("the fifth that is there least", fontsize=9, loc="left", color=text)
    left.set_xlabel("round")
    left.set_ylabel("accuracy on their data")
    right.set_title(
        f"all: round {first.rounds[early]} (dashed) and {first.rounds[-1]}",
        fontsize=9,
        loc="left",
        color=text,
    )
    left_out = [each for each in methods.values() if each.fewest_scored < each.num_clients]
    said = [f"{each.fewest_scored} of {each.num_clients} clients are scored" for each in left_out]
    by_seconds = any(each.by_seconds for each in methods.values())
    what = "seconds of their device" if by_seconds else "share of rounds in which they are there"
    right.set_xlabel("\n".join([what, *said[:1]]))
    if by_seconds:
        right.set_xscale("log")
    else:
        right.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    for panel in (left, right):
        _plain(panel, ground)
    figure.suptitle(literal(title), fontsize=10.5, color=text, x=0.01, ha="left", weight="bold")
    handles, labels = left.get_legend_handles_labels()
    figure.legend(
        handles[::-1],
        labels[::-1],
        loc="outside lower center",
        ncols=len(names),
        frameon=False,
        labelcolor=text,
        fontsize=9,
    )
    return figure


def _meetings(
    panel: Axes, methods: Mapping[str, ByPresence], lines: Sequence[str], text: str
) -> None:
    """Marks the rounds from which the first method's lead is no longer shown."""
    first, *others = methods.values()
    for number, other in enumerate(others, start=1):
        at = meeting(first, other)
        if at is not None:
            place = int(np.flatnonzero(other.rounds == at)[0])
            height = float(other.rarest[:, place].mean())
            panel.plot([at], [height], marker="o", color=lines[number], markersize=9,
                       fillstyle="none")  # fmt: skip
            panel.annotate(f"meet at {at}", (at, height), xytext=(0, -14), fontsize=8, ha="center",
                           textcoords="offset points", color=text)  # fmt: skip


def _plain(panel: Axes, ground: str) -> None:
    text = _COLOURS[ground]
    panel.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    panel.tick_params(colors=text, labelsize=9)
    panel.grid(color=_GRID[ground], linewidth=0.6)
    panel.spines[["top", "right"]].set_visible(False)
    panel.spines[["left", "bottom"]].set_color(text)
    for label in (panel.xaxis.label, panel.yaxis.label):
        label.set_color(text)
        label.set_fontsize(9)
