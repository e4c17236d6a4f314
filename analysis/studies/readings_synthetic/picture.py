"""Draws what each reading, switched alone, does to F3AST's lead over FedAvg.

python -m f3ast_tff.analysis.studies.readings_synthetic.picture
    --effects analysis/studies/readings_synthetic/effects.csv --out leads.svg
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from f3ast_tff.analysis.command_line import command, out_flag, require_ending
from f3ast_tff.analysis.compare.plan_picture import draw_differences
from f3ast_tff.analysis.method_names import display_of
from f3ast_tff.files.messages import show
from f3ast_tff.settings import REQUIRED, parameter

_SEVERAL = "all: "


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    effects: str = parameter(REQUIRED, "CSV file of the report's effects of readings", is_path=True)
    out: str = out_flag("SVG or PNG")


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Draws the picture."""
    require_ending("out", flags.out, ".svg", ".png")
    draw_differences(leads(pd.read_csv(flags.effects)), Path(flags.out))
    show(f"written: {flags.out}")


def leads(effects: pd.DataFrame) -> pd.DataFrame:
    """Returns rows of `draw_differences`: the effects of single switches on leads, by reading."""
    kept = effects[(effects["of"] == "lead") & ~effects["switch"].str.startswith(_SEVERAL)]
    number = kept["switch"].str.extract(r"^R(\d+)", expand=False).astype(int)
    kept = kept.iloc[number.argsort(kind="stable")]
    where = [display_of("availability", text.split(", ")[1]) for text in kept["where"]]
    return pd.DataFrame(
        {
            "name": kept["switch"],
            "score": "change of F3AST's lead in sample accuracy",
            "cell": where,
            "mean": kept["effect"],
            "low": kept["low"],
            "high": kept["high"],
        }
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv))
