"""Prints the absences of each system, or draws user accuracy against the longest absence.

python -m f3ast_tff.analysis.studies.heavy_tails.systems
    --absences analysis/studies/heavy_tails/absences.csv
    --scores analysis/studies/heavy_tails/scores.csv
    --picture analysis/studies/heavy_tails/picture.png
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from f3ast_tff.analysis.command_line import command, require_ending
from f3ast_tff.analysis.curves import add_legend, plain, save
from f3ast_tff.analysis.line_styles import Look, literal, styles_of
from f3ast_tff.analysis.texts import markdown_table
from f3ast_tff.analysis.tidy_scores import label, read_scores
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files.messages import show
from f3ast_tff.settings import REQUIRED, parameter

_HEADINGS = (
    "system",
    "tau_avg",
    *(f"tau_max, {rounds}" for rounds in (250, 500, 1000, 4000)),
    "longest return",
    "N p / r then",
    "largest N p / r",
    "change of r",
)
_METHOD = ("algorithm", "aggregation")
_SHOWN = (
    ("f3ast", "scaffold"),
    ("scaffold", "scaffold"),
    ("mifa", "mifa"),
    ("f3ast", "sum"),
    ("focus", "focus"),
    ("fedavg_all", "mean"),
    ("fedavg", "mean"),
)


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    absences: str = parameter(REQUIRED, "CSV file of `absences`", is_path=True)
    scores: str | None = parameter(None, "CSV file of the study's scores", is_path=True)
    picture: str | None = parameter(
        None, "picture to write, .png or .svg; needs --scores", is_path=True
    )


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Prints the table or draws the picture."""
    absences = pd.read_csv(flags.absences)
    if flags.picture is None:
        show(table_of(absences))
        return
    require_ending("picture", flags.picture, ".png", ".svg")
    if flags.scores is None:
        raise ParameterError("scores", None, "must be given with --picture")
    save(drawn(read_scores(Path(flags.scores)), absences), Path(flags.picture))
    show(f"written: {flags.picture}")


def table_of(absences: pd.DataFrame) -> str:
    """Returns the absences of each system as a Markdown table, means over draws."""
    means = absences.groupby("renewal_preset").mean().sort_values("tau_max_1000")
    rows = [
        [
            str(name),
            f"{row['tau_avg']:.2f}",
            *(f"{row[f'tau_max_{rounds}']:.0f}" for rounds in (250, 500, 1000, 4000)),
            f"{row['longest_return']:.0f}",
            f"{row['weight_at_return']:.0f}",
            f"{row['largest_weight']:.0f}",
            f"{row['change']:.2f}",
        ]
        for name, row in means.iterrows()
    ]
    return markdown_table(_HEADINGS, rows)


def drawn(scores: pd.DataFrame, absences: pd.DataFrame) -> Figure:
    """Returns the picture: a line per method, a point per system; x is tau_max at the last round.

    Points are means over draws. FedAWE, far below, and methods beside others are left out.
    """
    last = scores[scores["round"] == scores["round"].max()]
    longest = absences.groupby("renewal_preset")["tau_max_1000"].mean().sort_values()
    figure = Figure(figsize=(8, 4.8), layout="constrained")
    panel = figure.subplots()
    styles = styles_of(["/".join(key) for key in _SHOWN])
    looks = []
    for key in _SHOWN:
        own = last[(last["algorithm"] == key[0]) & (last["aggregation"] == key[1])]
        means = own.groupby("renewal_preset")["user_accuracy"].mean()[longest.index]
        look = Look(*styles["/".join(key)], label(_METHOD, key))
        panel.plot(
            longest,
            means,
            color=look.color,
            linestyle=look.dashes,
            marker=look.marker,
            linewidth=1.8,
            label=literal(look.label),
        )
        looks.append(look)
    low = panel.get_ylim()[0] - 0.006
    panel.set_ylim(bottom=low)
    for place, (name, tau) in enumerate(longest.items()):
        panel.annotate(
            str(name),
            (float(tau), low),
            xytext=(0, 4 + 11 * (place % 2)),
            textcoords="offset points",
            fontsize=7.5,
            ha="center",
        )
    panel.set_xscale("log")
    panel.set_xlabel("longest absence of a client in 1000 rounds, tau_max (mean over draws)")
    panel.set_ylabel("test user accuracy at round 1000")
    plain(panel)
    add_legend(figure, looks)
    return figure


if __name__ == "__main__":
    sys.exit(main(sys.argv))
