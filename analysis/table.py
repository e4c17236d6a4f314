"""The table of final scores."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

import numpy as np
import pandas as pd

from f3ast_tff.analysis.grouping import NAMES, Group, describe, group_runs
from f3ast_tff.analysis.runs import PERIODS, SCORES, Run, finished_runs

_HEADINGS = {"final": "final round", "mean_of_last_10_percent": "mean of last 10%"}
# Beyond this, four decimals would take the table past 100 columns.
_LARGE = 100.0
_WIDTH = 100


def final_table(runs: Sequence[Run]) -> pd.DataFrame:
    """Returns the scores at the end of training, and prints which runs are left out as unfinished.

    Args:
        runs: Runs, unfinished ones too.

    Returns:
        A row a condition and algorithm, with columns `algorithm`; the condition's settings; `runs`,
        the number of runs; and for each period and score the mean over runs, `<period>_<score>`,
        and the standard deviation (n - 1 degrees of freedom), `<period>_<score>_sd`, NaN for one
        run. A score that is not finite in one run makes both NaN.

    Raises:
        RunsError: If no run is finished, or a run is there twice.
    """
    finished = finished_runs(runs)
    unfinished = [str(run.path) for run in runs if run.summary is None]
    if unfinished:
        print(f"unfinished, left out: {', '.join(unfinished)}")
    groups = group_runs(finished)
    table = pd.DataFrame([_row(group) for group in groups])
    for name in groups[0].condition:
        # Otherwise a setting given in some runs only, 5 and None, would become 5.0 and NaN.
        values = [group.condition[name] for group in groups]
        table[name] = pd.Series(values, dtype=object)
    return table


def render(table: pd.DataFrame) -> str:
    """Returns a `final_table` as text, at most 100 columns wide."""
    columns = [str(column) for column in table.columns]
    names = columns[1 : columns.index("runs")]
    blocks = []
    for _, part in table.groupby(names, sort=False, dropna=False):
        condition = {name: part[name].iloc[0] for name in names}
        blocks.append(textwrap.fill(describe(condition, names), _WIDTH))
        blocks += [_block(part, period) for period in PERIODS]
    if (table["runs"] > 1).any():
        blocks.append("mean ± standard deviation over runs that differ by the seed alone")
    return "\n\n".join(blocks)


def _row(group: Group) -> dict[str, object]:
    row: dict[str, object] = {"algorithm": group.algorithm, **group.condition}
    row["runs"] = len(group.runs)
    for period in PERIODS:
        for score in SCORES:
            found = [run.summary[period][f"test_{score}"] for run in group.runs if run.summary]
            values = np.array(found, dtype=float)
            row[f"{period}_{score}"] = float(values.mean())
            several = len(values) > 1
            row[f"{period}_{score}_sd"] = float(values.std(ddof=1)) if several else math.nan
    return row


def _block(part: pd.DataFrame, period: str) -> str:
    columns = {"runs": [str(number) for number in part["runs"]]}
    for score in SCORES:
        pairs = zip(part[f"{period}_{score}"], part[f"{period}_{score}_sd"])
        columns[score.replace("_", " ")] = [
            _number(mean) if math.isnan(sd) else f"{_number(mean)} ± {_number(sd)}"
            for mean, sd in pairs
        ]
    # Of one width, so that blocks line up.
    width = max(map(len, _HEADINGS.values()))
    names = [NAMES.get(name, name).ljust(width) for name in part["algorithm"]]
    header = pd.Index(columns, name=_HEADINGS[period])
    return pd.DataFrame(columns, index=names).set_axis(header, axis="columns").to_string()


def _number(value: float) -> str:
    return f"{value:.1e}" if abs(value) >= _LARGE else f"{value:.4f}"
