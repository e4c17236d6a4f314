"""Measures the papers' theorems on quadratics, and draws a picture of each part.

python -m f3ast_tff.analysis.studies.theory --out analysis/studies/theory/scores.csv

Writes the CSV, and PART.png beside it, in minutes on one core. `tables` prints its tables.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from f3ast_tff.analysis.command_line import command, out_flag
from f3ast_tff.analysis.studies.theory import ca_fed_bounds, f3ast_rate, fedlaavg_bounds, optima
from f3ast_tff.analysis.studies.theory.pictures import PICTURES
from f3ast_tff.analysis.texts import write_csv
from f3ast_tff.files.messages import show
from f3ast_tff.settings import parameter

PARTS = {
    "f3ast": f3ast_rate.results,
    "ca_fed": ca_fed_bounds.results,
    "fedlaavg": fedlaavg_bounds.results,
    "optima": optima.results,
}
# Digits of the kept numbers.
_DIGITS = 5


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    out: str = out_flag("CSV")
    part: str = parameter("all", "the part to measure", choices=("all", *PARTS))
    draws: int = parameter(24, "runs of each case", minimum=3)
    rounds: int = parameter(2000, "rounds of each run", minimum=200)


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Writes the file and draws."""
    parts = PARTS if flags.part == "all" else {flags.part: PARTS[flags.part]}
    frames = []
    for part, measured in parts.items():
        frame = pd.DataFrame(measured(flags.draws, flags.rounds))
        frame.insert(0, "part", part)
        numbers = frame.select_dtypes("number").columns
        frame[numbers] = frame[numbers].map(lambda value: float(f"{value:.{_DIGITS}g}"))
        frames.append(frame)
        picture = Path(flags.out).with_name(f"{part}.png")
        PICTURES[part](frame, picture)
        show(f"{part}: {len(frame)} rows, {picture}")
    write_csv(pd.concat(frames), flags.out)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
