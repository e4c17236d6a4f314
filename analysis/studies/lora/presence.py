"""Loss of clients by how often they are there, from the campaign's runs; its table and picture.

python -m f3ast_tff.analysis.studies.lora.presence --runs runs/lora
    --out analysis/studies/lora/presence.csv
python -m f3ast_tff.analysis.studies.lora.presence --scores analysis/studies/lora/presence.csv
    --picture analysis/studies/lora/picture.png

Clients are numbered as pi_k rises; each of five columns is the mean of four of them, the rarest
first, at the last round. Without --picture the table is printed.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from f3ast_tff.analysis.command_line import command, read_finished
from f3ast_tff.analysis.curves import save
from f3ast_tff.analysis.line_styles import styles_of
from f3ast_tff.analysis.texts import markdown_table, write_csv
from f3ast_tff.files.messages import show
from f3ast_tff.records.outputs import read_client_scores
from f3ast_tff.settings import parameter

_METHOD = ["algorithm", "factors"]
FIFTHS = [f"fifth_{number}" for number in range(1, 6)]
_WEIGHTS = {"fedavg_all": "plain mean", "unbiased": "p / pi", "f3ast": "F3AST's p / r"}
_FACTORS = ("fedit", "changes", "fedex", "flora", "ffa", "rolora")
# Losses above it are drawn at it.
_TOP = 2.0


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    runs: str = parameter("", "folder of the campaign's runs, to write --out from")
    out: str = parameter("", "CSV to write")
    scores: str = parameter("", "CSV of an earlier call")
    picture: str = parameter("", "picture to draw from --scores, .png")


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Writes the CSV, draws the picture or prints the table."""
    if flags.runs:
        found: list[dict[str, object]] = []
        for run in read_finished(flags.runs):
            scores = read_client_scores(run.path)
            fifths = np.array_split(scores[max(scores)]["loss"], len(FIFTHS))
            names = {name: run.settings[name] for name in (*_METHOD, "availability")}
            of_fifths = dict(zip(FIFTHS, [round(float(each.mean()), 6) for each in fifths]))
            found.append({**names, "draw": run.settings["data_seed"], **of_fifths})
        table = pd.DataFrame(found)
        write_csv(table.sort_values([*table.columns[:4]]), flags.out)
        return
    means = pd.read_csv(flags.scores).groupby(_METHOD)[FIFTHS].mean()
    losses = dict(zip(means.index.tolist(), means.to_numpy()))
    if flags.picture:
        save(figure_of(losses), Path(flags.picture))
        return
    rows = [
        [weights, factors, *(f"{loss:.3g}" for loss in losses[algorithm, factors])]
        for algorithm, weights in _WEIGHTS.items()
        for factors in _FACTORS
    ]
    show(markdown_table(["weights", "factors", "rarest", "2", "3", "4", "most there"], rows))


def figure_of(losses: Mapping[tuple[str, str], np.ndarray]) -> Figure:
    """Draws losses, `float64 [5]` by weights and factors: panels by factors, lines by weights."""
    figure = Figure(figsize=(9, 4.6), layout="constrained")
    styles = styles_of(_WEIGHTS)
    for panel, factors in zip(figure.subplots(2, 3, sharex=True, sharey=True).flat, _FACTORS):
        for algorithm, weights in _WEIGHTS.items():
            colour, dashes, marker = styles[algorithm]
            panel.plot(
                np.minimum(losses[algorithm, factors], _TOP),
                color=colour,
                linestyle=dashes,
                marker=marker,
                label=weights,
            )
        lost = [each for name, each in _WEIGHTS.items() if losses[name, factors].max() > _TOP]
        said = f" (mean with {' and '.join(lost)}: above {_TOP:g})" if lost else ""
        panel.set_title(factors + said, fontsize=10, loc="left")
        panel.set_xticks(range(len(FIFTHS)), ["rarest", "", "", "", "most"])
        panel.grid(alpha=0.3)
    figure.supylabel(f"loss of the clients (at most {_TOP:g} is drawn)")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


if __name__ == "__main__":
    sys.exit(main(sys.argv))
