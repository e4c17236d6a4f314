"""Draws each site's weight in the model by quorum, and prints it.

python -m f3ast_tff.analysis.studies.clinics.weights
    --counts analysis/studies/clinics/counts.csv --picture docs/pictures/clinics.png
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from f3ast_tff.advice.site_quorums import AtQuorum, SiteTimes, by_quorum
from f3ast_tff.analysis.command_line import command
from f3ast_tff.analysis.curves import save
from f3ast_tff.datasets.label_counts import SiteCounts, read_counts
from f3ast_tff.files.messages import show
from f3ast_tff.settings import REQUIRED, parameter

_SPREADS = (0.5, 0.1)
_COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#6E7781", "#24292f")


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    counts: str = parameter(REQUIRED, "CSV with a row per site and a column per class")
    picture: str = parameter("", "picture to write")
    presence: float = parameter(0.9, "share of the rounds in which a site replies", above=0)


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Prints the table, and draws the picture if it has a name."""
    table = read_counts(flags.counts)
    found = {spread: quorums_of(table, spread, flags.presence) for spread in _SPREADS}
    for spread, rows in found.items():
        show(f"\n| quorum, sigma {spread:g} | succeeds | time | {' | '.join(table.sites)} |")
        show("|" + "---|" * (3 + len(table.sites)))
        for each in rows:
            weights = " | ".join(f"{weight:.3f}" for weight in each.weight)
            hours = each.seconds / rows[-1].seconds
            show(f"| {each.quorum} | {each.succeeds:.2f} | {hours:.2f} | {weights} |")
    if flags.picture:
        save(picture_of(table, found), Path(flags.picture))


def quorums_of(table: SiteCounts, spread: float, presence: float) -> list[AtQuorum]:
    """Rounds by quorum of sites whose times are in proportion to their examples."""
    sizes = table.counts.sum(axis=1).astype(float)
    ones = np.ones(len(sizes))
    return by_quorum(SiteTimes(table.sites, sizes, spread * ones, presence * ones, sizes))


def picture_of(table: SiteCounts, found: dict[float, list[AtQuorum]]) -> Figure:
    """Weight of each site over the quorum, a panel per spread; dashed, its share of the data."""
    sizes = table.counts.sum(axis=1)
    figure = Figure(figsize=(7.4, 3.3), layout="constrained")
    for axes, (spread, rows) in zip(figure.subplots(1, len(found), sharey=True), found.items()):
        quorums = [each.quorum for each in rows]
        for k, name in enumerate(table.sites):
            colour = _COLOURS[k % len(_COLOURS)]
            weights = [each.weight[k] for each in rows]
            axes.plot(quorums, weights, marker="o", markersize=3, color=colour, label=name)
            axes.axhline(sizes[k] / sizes.sum(), color=colour, linestyle=":", linewidth=0.8)
        axes.set_title(f"times vary by sigma = {spread:g}", fontsize=10)
        axes.set_xlabel("quorum")
        axes.yaxis.set_major_formatter(PercentFormatter(1))
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    figure.axes[0].set_ylabel("weight in the model")
    figure.axes[-1].legend(frameon=False, ncols=2, fontsize=8, title="site")
    return figure


if __name__ == "__main__":
    sys.exit(main(sys.argv))
