"""Prints claims of the kept measurements as a Markdown table.

python -m f3ast_tff.analysis.studies.theory.tables --results scores.csv --claim III.7
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from f3ast_tff.analysis.command_line import command
from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.texts import markdown_table
from f3ast_tff.analysis.tidy_scores import read_cells
from f3ast_tff.files.messages import show
from f3ast_tff.settings import REQUIRED, parameter

_NUMBERS = ["exact", "bound"]
_TEXTS, _ALL_NUMBERS = ["claim", "case", "setting"], ["x", "measured", "low", "high", *_NUMBERS]


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    results: str = parameter(REQUIRED, "CSV file of the measurements", is_path=True)
    claim: str = parameter(REQUIRED, "claims to print, separated by semicolons")
    wide: bool = parameter(False, "a column per setting: measured, and exact in brackets")


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Prints the table."""
    kept = read_cells(Path(flags.results))
    if missing := [name for name in (*_TEXTS, *_ALL_NUMBERS) if name not in kept]:
        raise RunsError(f"{flags.results} is no file of measurements: no column {missing[0]}")
    kept = kept.assign(**{name: pd.to_numeric(kept[name]) for name in _ALL_NUMBERS})
    claims = [claim.strip() for claim in flags.claim.split(";")]
    for claim in claims:
        if claim not in set(kept["claim"]):
            raise RunsError(f"{flags.results} has no claim {claim!r}")
    found = kept[kept["claim"].isin(claims)]
    show(_wide(found) if flags.wide else _long(found))


def _text(value: float) -> str:
    return "" if pd.isna(value) else f"{value:.3g}"


def _hundredths(value: float) -> str:
    """Two decimals; 0 for what rounds to it."""
    return f"{value:.2f}" if abs(value) >= 0.005 else "0"


def _measured(row: pd.Series) -> str:
    ends = "" if pd.isna(row["low"]) else f" [{_text(row['low'])}, {_text(row['high'])}]"
    return _text(row["measured"]) + ends


def _long(found: pd.DataFrame) -> str:
    headings = ["claim", "case", "setting", "x", "measured", *_NUMBERS]
    rows = [
        [
            row["claim"],
            row["case"],
            row["setting"],
            _text(row["x"]),
            _measured(row),
            *(_text(row[name]) for name in _NUMBERS),
        ]
        for _, row in found.iterrows()
    ]
    filled = [i for i in range(len(headings)) if any(cells[i] for cells in rows)]
    return markdown_table(
        [headings[i] for i in filled], [[cells[i] for i in filled] for cells in rows]
    )


def _wide(found: pd.DataFrame) -> str:
    settings = list(dict.fromkeys(found["setting"]))
    rows = []
    for case, part in found.groupby("case", sort=False):
        by_setting = part.set_index("setting")
        cells = [str(case)]
        for setting in settings:
            row = by_setting.loc[setting]
            exact = "" if pd.isna(row["exact"]) else f" ({_hundredths(row['exact'])})"
            cells.append(_hundredths(row["measured"]) + exact)
        rows.append(cells)
    return markdown_table(["", *settings], rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
