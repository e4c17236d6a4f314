"""The picture of an availability process over some rounds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from f3ast_tff.availability.preview import Preview
from f3ast_tff.files.atomic import atomic_write

DPI = 150
SIZE = (11.0, 6.2)
# Dark blue on near-white, and orange: apart in grey and for every kind of colour vision.
_ON, _OFF, _ACCENT = "#08306B", "#F2F2F2", "#E66100"
_BINS = [i / 25 for i in range(26)]


def draw(seen: Preview, title: str, path: Path) -> None:
    """Draws the masks, the number of available clients, and the frequency of each client.

    Args:
        seen: The preview to draw.
        title: Heading.
        path: The PNG file to write or replace; on an error it stays as it was.

    Raises:
        OSError: If the file cannot be written.
    """
    figure = Figure(figsize=SIZE, layout="constrained")
    figure.suptitle(title, fontsize="large")
    grid = figure.add_gridspec(2, 2, width_ratios=(2.6, 1), height_ratios=(2.2, 1))
    rounds, n = len(seen.masks), len(seen.frequency)

    who = figure.add_subplot(grid[0, 0])
    last = len(seen.shown) - 0.5
    who.imshow(
        seen.masks.T,
        aspect="auto",
        cmap=ListedColormap([_OFF, _ON]),
        vmin=0,
        vmax=1,
        interpolation="nearest" if rounds <= 1000 else "auto",
        extent=(0.5, rounds + 0.5, last, -0.5),
    )
    if len(seen.shown) == n:
        who.yaxis.set_major_locator(MaxNLocator(6, integer=True))
        who.set_ylabel("client")
    else:
        ticks = np.linspace(0, len(seen.shown) - 1, 6).round().astype(int)
        who.set_yticks(ticks, [f"{seen.shown[i]}" for i in ticks])
        who.set_ylabel(f"client ({len(seen.shown)} of {n})")
    who.set_title("who is available", fontsize="medium", loc="left")
    who.tick_params(labelbottom=False)
    who.legend(
        handles=[
            Patch(facecolor=_ON, edgecolor="black", label="available"),
            Patch(facecolor=_OFF, edgecolor="black", label="not available"),
        ],
        loc="lower right",
        bbox_to_anchor=(1, 1),
        borderaxespad=0.1,
        ncols=2,
        frameon=False,
        fontsize="small",
    )

    how_many = figure.add_subplot(grid[1, 0], sharex=who)
    t = np.arange(1, rounds + 1)
    how_many.plot(t, seen.num_available, color=_ON, linewidth=1.2, label="available")
    if seen.k is not None:
        how_many.step(
            t, seen.k, where="mid", color=_ACCENT, linestyle="--", label="$K_t$", linewidth=1.0
        )
        how_many.legend(fontsize="small", loc="upper right", ncols=2, frameon=False)
    # Room for the legends.
    highest = max(seen.num_available.max(), 1 if seen.k is None else seen.k.max(), 1)
    how_many.set_ylim(0, highest * (1.08 if seen.k is None else 1.35))
    how_many.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    how_many.xaxis.set_major_locator(MaxNLocator(integer=True))
    how_many.set_xlabel("round")
    how_many.set_ylabel("clients available")

    how_often = figure.add_subplot(grid[:, 1])
    how_often.hist(seen.frequency, _BINS, color="#9DB7D5", label=f"seen in {rounds} rounds")
    if seen.stationary is not None:
        how_often.hist(
            seen.stationary,
            _BINS,
            histtype="step",
            color=_ACCENT,
            linewidth=1.8,
            label="stationary",
        )
    how_often.set_xlim(0, 1)
    how_often.yaxis.set_major_locator(MaxNLocator(integer=True))
    how_often.set_xlabel("share of rounds available")
    how_often.set_ylabel("clients")
    how_often.set_title("how often each is available", fontsize="medium", loc="left")
    how_often.set_ylim(0, how_often.get_ylim()[1] * 1.12)
    how_often.legend(fontsize="small", loc="upper center", frameon=False)
    with atomic_write(path, "wb") as file:
        figure.savefig(file, format="png", dpi=DPI)
