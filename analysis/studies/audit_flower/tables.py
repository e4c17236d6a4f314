"""Prints the audits as a Markdown table, or draws weight by presence.

python -m f3ast_tff.analysis.studies.audit_flower.tables --scores scores.csv
python -m f3ast_tff.analysis.studies.audit_flower.tables --scores scores.csv --picture picture.png
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from f3ast_tff.analysis.command_line import command
from f3ast_tff.analysis.curves import save
from f3ast_tff.analysis.texts import markdown_table
from f3ast_tff.analysis.tidy_scores import read_cells
from f3ast_tff.audit.findings import CHECKS
from f3ast_tff.audit.page import by_presence
from f3ast_tff.files.messages import show
from f3ast_tff.settings import REQUIRED, parameter

_CLIENTS = range(8)
_DRAWN = (
    "FedAvg",
    "FedAvgM, momentum .9",
    "FedAdam",
    "FedYogi",
    "unbiased, adapter",
    "f3ast, adapter",
)


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    scores: str = parameter(REQUIRED, "CSV file of the audits", is_path=True)
    picture: str | None = parameter(None, "picture to write in place of the table", is_path=True)


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Prints the table."""
    kept = read_cells(Path(flags.scores))
    if flags.picture is not None:
        save(drawn(kept), Path(flags.picture))
        show(f"picture: {flags.picture}")
        return
    for what in ("weight", "influence"):
        rows = kept[kept[f"{what}_0"] != ""]
        if what == "weight":
            rows = kept[kept["influence_0"] == ""]
        first = rows[rows["there_0"] != ""].iloc[0]
        there = [f"{float(first[f'there_{k}']):.2f}" for k in _CLIENTS]
        show(markdown_table(["strategy", "rule", *there, "wrong"], _cells(rows, what)) + "\n")


def _cells(rows: pd.DataFrame, what: str) -> list[list[str]]:
    return [
        [
            row["target"],
            row["rule"],
            *(f"{float(w):.2f}" if (w := row[f"{what}_{k}"]) else "" for k in _CLIENTS),
            ", ".join(check for check in CHECKS if row[check]) or "nothing",
        ]
        for _, row in rows.iterrows()
    ]


def drawn(kept: pd.DataFrame) -> Figure:
    """Returns the picture."""
    lines = {}
    for name in _DRAWN:
        for _, row in kept[kept["target"] == name].iterrows():
            there, share = (
                np.array([float(row[f"{what}_{k}"]) for k in _CLIENTS])
                for what in ("there", "weight")
            )
            lines[name] = (there, share, None)
    return by_presence(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
