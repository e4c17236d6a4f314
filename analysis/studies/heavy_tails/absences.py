"""Absences of the nine systems, and what F3AST's rates and weights do in them; writes a CSV.

python -m f3ast_tff.analysis.studies.heavy_tails.absences --runs runs/heavy_tails
    --out analysis/studies/heavy_tails/absences.csv
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from f3ast_tff.analysis.command_line import command, out_flag, runs_flag
from f3ast_tff.analysis.runs import Run, finished_runs, load_runs
from f3ast_tff.analysis.texts import write_csv
from f3ast_tff.availability.preview import Absences
from f3ast_tff.availability.renewal import RenewalConfig
from f3ast_tff.files.messages import show

# Rounds after which tau_max is taken; the longest run far beyond the studied ones.
HORIZONS = (250, 500, 1000, 4000)


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    runs: str = runs_flag()
    out: str = out_flag("CSV")


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Writes the file."""
    runs = [
        run
        for run in finished_runs(load_runs(Path(flags.runs)))
        if run.settings["algorithm"] == "f3ast" and run.settings["aggregation"] == "sum"
    ]
    write_csv(pd.DataFrame([row_of(run) for run in runs]).round(4), flags.out)
    show(f"{len(runs)} rows: {flags.out}")


def row_of(run: Run) -> dict[str, object]:
    """Returns absences and rates of one run of F3AST.

    Returns:
        `renewal_preset`; `draw`; `tau_avg` and `tau_max` after each of `HORIZONS`; `away`, number
        of clients that are never there in the run; `longest_return`, the longest absence that ends
        with the client selected; `weight_at_return`, its N p_k / r_k then; `largest_weight`, the
        largest N p_k / r_k of the run; `change`, sum over clients of |r_k(T) - r_k(T/2)| over the
        sum of r_k(T).
    """
    preset, draw = str(run.settings["renewal_preset"]), run.pair.draw
    found = run.selection()
    n, rounds = len(found["p"]), len(found["selected"])
    process = RenewalConfig(renewal_preset=preset).build(np.ones(n) / n, run.settings["seed"])
    absences, row = Absences(n), {"renewal_preset": preset, "draw": draw}
    last_seen, best = np.zeros(n, np.int64), (-1, 0.0)
    ever = np.zeros(n, bool)
    for t in range(1, HORIZONS[-1] + 1):
        mask = process.mask(t)
        absences.add(mask)
        if t in HORIZONS:
            row[f"tau_max_{t}"] = absences.tau_max
        if t > rounds:
            continue
        ids = found["selected"][t - 1]
        weights = n * found["weights"][t - 1][ids >= 0]
        ids = ids[ids >= 0]
        gaps = t - 1 - last_seen[ids]
        if len(ids) and gaps.max() > best[0]:
            best = int(gaps.max()), float(weights[gaps.argmax()])
        last_seen[mask] = t
        ever |= mask
        if t == rounds:
            row["tau_avg"] = absences.tau_avg
    rates = dict(zip(found["rate_rounds"].tolist(), found["rates"]))
    change = np.abs(rates[rounds] - rates[rounds // 2]).sum() / rates[rounds].sum()
    return {
        **row,
        "away": int((~ever).sum()),
        "longest_return": best[0],
        "weight_at_return": best[1],
        "largest_weight": float(n * found["weights"].max()),
        "change": float(change),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv))
