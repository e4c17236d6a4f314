"""The table of final scores."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Mapping, Sequence

import pandas as pd

from f3ast_tff.analysis.run_groups import RunGroup, Score, describe, score
from f3ast_tff.analysis.runs import PERIODS, SCORES
from f3ast_tff.analysis.texts import spread_text

_HEADINGS = {"final": "final round", "mean_of_last_10_percent": "mean of last 10%"}
_WIDTH = 100


def final_table(
    groups: Sequence[RunGroup], names: Sequence[str], labels: Mapping[RunGroup, str] | None = None
) -> pd.DataFrame:
    """Returns the scores at the end of training.

    Args:
        groups: Finished runs, of `arranged`.
        names: The settings of their conditions.
        labels: Names of rows in tables, in place of the algorithms'.

    Returns:
        A row a condition and algorithm, with columns `algorithm`; `display`, its name in tables;
        the condition's settings; `runs` and `draws`, the number of runs and of draws of the data;
        and for each period and score the mean, `<period>_<score>`, and the standard deviation
        (n - 1 degrees of freedom), `<period>_<score>_sd`, NaN for one run: over draws, of each
        draw's mean over its seeds; over seeds with one draw. A score that is not finite in one run
        makes both NaN.
    """
    table = pd.DataFrame([_row(group, names) for group in groups])
    if labels is not None:
        table["display"] = [labels[group] for group in groups]
    for name in names:
        # Otherwise a setting given in some runs only, 5 and None, would become 5.0 and NaN.
        table[name] = pd.Series([group.condition([name])[name] for group in groups], dtype=object)
    return table


def render(table: pd.DataFrame, named: Collection[str] = ()) -> str:
    """Returns a `final_table` as text, a block a condition, by default at most 100 columns wide.

    Args:
        table: The table.
        named: Settings that the labels of the rows name, and that are no conditions.
    """
    columns = [str(column) for column in table.columns]
    names = [name for name in columns[2 : columns.index("runs")] if name not in named]
    blocks = []
    for _, part in table.groupby(names, sort=False, dropna=False):
        condition = {name: part[name].iloc[0] for name in names}
        blocks.append(textwrap.fill(describe(condition, names), _WIDTH))
        blocks += [_block(part, period) for period in PERIODS]
    parts = []
    if (table["draws"] > 1).any():
        parts.append("over draws of the data (each draw's mean over its seeds)")
    if ((table["draws"] == 1) & (table["runs"] > 1)).any():
        one = " where there is one draw" if parts else ", all on one draw of the data"
        parts.append(f"over seeds{one}")
    if parts:
        blocks.append(f"mean ± standard deviation {', '.join(parts)}")
    return "\n\n".join(blocks)


def _row(group: RunGroup, names: Sequence[str]) -> dict[str, object]:
    row: dict[str, object] = {"algorithm": group.algorithm, "display": group.display}
    row.update(group.condition(names))
    row["runs"], row["draws"] = len(group.runs), len(group.draws)
    for period in PERIODS:
        for metric in SCORES:
            found = score(group, metric, period)
            row[f"{period}_{metric}"] = found.mean
            row[f"{period}_{metric}_sd"] = found.deviation
    return row


def _block(part: pd.DataFrame, period: str) -> str:
    columns = {"runs": [str(number) for number in part["runs"]]}
    if (part["draws"] > 1).any():
        columns["draws"] = [str(number) for number in part["draws"]]
    for metric in SCORES:
        pairs = zip(part[f"{period}_{metric}"], part[f"{period}_{metric}_sd"])
        columns[metric.replace("_", " ")] = [spread_text(Score(*pair, 0, 0)) for pair in pairs]
    # Of one width, so that blocks line up.
    width = max(map(len, _HEADINGS.values()))
    names = [name.ljust(width) for name in part["display"]]
    header = pd.Index(columns, name=_HEADINGS[period])
    return pd.DataFrame(columns, index=names).set_axis(header, axis="columns").to_string()
