"""Accuracy of clients by how often they are there, as a picture for light and for dark pages.

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
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from scipy import stats  # type: ignore[import-untyped]

from f3ast_tff.analysis.curves import save
from f3ast_tff.analysis.line_styles import literal
from f3ast_tff.analysis.runs import RunsError
from f3ast_tff.availability.logs.mask_files import read_masks
from f3ast_tff.core.errors import DataError
from f3ast_tff.records.outputs import masks_there, read_client_scores
from f3ast_tff.records.results import read_selection, read_summary

# Groups of clients, from the rarest to the most present.
GROUPS = 5
# As wide as a telephone's page, in inches.
_SIZE = (3.7, 3.0)
_COLOURS = {"light": "#24292f", "dark": "#e6edf3"}
_GRID = {"light": "#d0d7de", "dark": "#3d444d"}
# Okabe and Ito's, which the colour-blind can distinguish, light enough for dark pages.
_LINES = {
    "light": ("#D55E00", "#0072B2", "#6E7781", "#009E73"),
    "dark": ("#FF8A3D", "#56B4E9", "#A9B1BA", "#2DC79B"),
}
_MARKERS = ("^", "o", "s", "D")
_LEVEL = 0.95


@dataclass(frozen=True)
class ByPresence:
    """Accuracy of groups of clients, for one method.

    Attributes:
        presence: Mean share of rounds in which the clients of a group are available, in [0, 1], or
            mean typical seconds of their devices, `float64 [GROUPS]`, rising.
        accuracy: Mean accuracy of a group's clients, by run, in [0, 1], `float64 [R, GROUPS]`.
        fewest_scored: Number of clients with a test example, in the run with the fewest.
        num_clients: Number of clients N.
        by_seconds: Whether clients are ranked by seconds.
    """

    presence: np.ndarray
    accuracy: np.ndarray
    fewest_scored: int
    num_clients: int
    by_seconds: bool = False

    @property
    def mean(self) -> np.ndarray:
        """Mean over runs, `float64 [GROUPS]`."""
        return self.accuracy.mean(axis=0)

    @property
    def margin(self) -> np.ndarray:
        """Half width of the 95% interval over runs, `float64 [GROUPS]`; 0 for one run."""
        runs = len(self.accuracy)
        if runs < 2:
            return np.zeros(self.accuracy.shape[1])
        error = self.accuracy.std(axis=0, ddof=1) / np.sqrt(runs)
        return error * float(stats.t.ppf((1 + _LEVEL) / 2, runs - 1))


def by_presence(folders: Sequence[Path]) -> ByPresence:
    """Reads finished runs of one method.

    Args:
        folders: Folders of runs that differ in their draws, at least one.

    Raises:
        RunsError: If a run lacks masks or scores of its clients, or a file of them is damaged.
    """
    return _joined([_of_run(folder, by_seconds=False) for folder in folders])


def by_speed(folders: Sequence[Path]) -> ByPresence:
    """Reads finished runs of one method; clients are ranked by `client_seconds`, the fastest first.

    Args:
        folders: Folders of runs that differ in their draws, at least one.

    Raises:
        RunsError: If a run lacks scores of its clients, its delivery has no clock, or a file is
            damaged.
    """
    return _joined([_of_run(folder, by_seconds=True) for folder in folders])


def _joined(found: Sequence[ByPresence]) -> ByPresence:
    return ByPresence(
        np.mean([each.presence for each in found], axis=0),
        accuracy=np.concatenate([each.accuracy for each in found]),
        fewest_scored=min(each.fewest_scored for each in found),
        num_clients=found[0].num_clients,
        by_seconds=found[0].by_seconds,
    )


def _of_run(folder: Path, by_seconds: bool) -> ByPresence:
    """One run after its last round."""
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
    accuracy = scores[max(scores)]["accuracy"]
    if len(accuracy) != len(presence):
        raise RunsError(f"{folder}: {len(accuracy)} test clients, {len(presence)} train")
    # A client without test examples has no accuracy.
    scored = np.flatnonzero(np.isfinite(accuracy))
    ranked = scored[np.argsort(presence[scored], kind="stable")]
    groups = np.array_split(ranked, GROUPS)
    of_presence, of_accuracy = (
        np.array([each[group].mean() for group in groups]) for each in (presence, accuracy)
    )
    return ByPresence(of_presence, of_accuracy[None], len(scored), len(accuracy), by_seconds)


def draw_presence(methods: Mapping[str, ByPresence], title: str, path: Path) -> list[Path]:
    """Draws a line per method, twice, on transparent ground.

    Args:
        methods: At most four methods by name, in the order of the legend; the first stands out.
        title: Text above the lines.
        path: Picture for light pages; the one for dark pages has `_dark` after its name.

    Returns:
        Both files.

    Raises:
        OSError: If a file cannot be written.
    """
    written = []
    for ground, ending in (("light", ""), ("dark", "_dark")):
        to = path.with_name(f"{path.stem}{ending}{path.suffix}")
        with rc_context({"savefig.transparent": True}):
            save(_figure(methods, title, ground), to)
        written.append(to)
    return written


def _figure(methods: Mapping[str, ByPresence], title: str, ground: str) -> Figure:
    text, size = _COLOURS[ground], 10.0
    figure = Figure(figsize=_SIZE, layout="constrained")
    panel = figure.subplots()
    # The first is drawn last, above the others.
    for number, (name, found) in reversed([*enumerate(methods.items())]):
        panel.errorbar(
            found.presence,
            found.mean,
            found.margin,
            color=_LINES[ground][number],
            marker=_MARKERS[number],
            markersize=6,
            linewidth=2.6 if number == 0 else 1.8,
            elinewidth=1.0,
            label=literal(name),
        )
    panel.set_title(
        literal(title), fontsize=size, color=text, loc="left", x=-0.18, fontweight="bold"
    )
    left_out = [each for each in methods.values() if each.fewest_scored < each.num_clients]
    said = [f"{each.fewest_scored} of {each.num_clients} clients are scored" for each in left_out]
    by_seconds = any(each.by_seconds for each in methods.values())
    what = "seconds of their device" if by_seconds else "share of rounds in which they are there"
    under = "\n".join([what, *said[:1]])
    panel.set_xlabel(under, fontsize=size, color=text)
    panel.set_ylabel("accuracy on their data", fontsize=size, color=text)
    for axis in (panel.yaxis,) if by_seconds else (panel.xaxis, panel.yaxis):
        axis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    if by_seconds:
        panel.set_xscale("log")
    panel.tick_params(colors=text, labelsize=size)
    panel.grid(color=_GRID[ground], linewidth=0.6)
    panel.spines[["top", "right"]].set_visible(False)
    panel.spines[["left", "bottom"]].set_color(text)
    handles, labels = panel.get_legend_handles_labels()
    panel.legend(
        handles[::-1],
        labels[::-1],
        # Where the lines are seldom: the last groups are the most present, or the slowest.
        loc="lower left" if by_seconds else "lower right",
        frameon=False,
        labelcolor=text,
        fontsize=size,
    )
    return figure
