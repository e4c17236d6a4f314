"""The numbers that the papers print, from `analysis/paper_tables/*.csv`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

FOLDER = Path(__file__).resolve().parent.parent / "paper_tables"


def paper_values(file: str, across: str) -> dict[tuple[str, Any, str], float]:
    """Reads one table.

    Args:
        file: Name of the file.
        across: The column whose values head the table's columns.

    Returns:
        The printed number by task, value of `across` and algorithm.
    """
    frame = pd.read_csv(FOLDER / file, keep_default_na=False)
    keys = zip(frame["task"], frame[across].tolist(), frame["algorithm"])
    return dict(zip(keys, frame["value"].astype(float)))


def cafed_gains() -> dict[str, float]:
    """Returns CA-Fed's accuracy minus AdaFed's by task (CA-Fed paper, Sec. V-B)."""
    frame = pd.read_csv(FOLDER / "cafed_fig1_gain.csv")
    return dict(zip(frame["task"], frame["value"].astype(float)))
