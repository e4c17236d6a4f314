"""Names of anybody's table that may be one, and rows that are there twice."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pandas as pd

from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.compare.table_cells import as_number, as_text, as_texts, rows_said

# Rows of a method that are all there twice by chance: of rounded scores two may be.
_FEWEST = 3


def refuse_spellings(table: pd.DataFrame, names: Sequence[str]) -> None:
    """Refuses values of a column that differ in case, blanks, hyphens or zeros alone.

    Args:
        table: The table.
        names: Columns of methods and conditions.

    Raises:
        RunsError: Names both spellings, and the call that makes them one.
    """
    for name in names:
        spellings: dict[str, list[str]] = {}
        for value in as_text(table[name]).value_counts().index:
            spellings.setdefault(_plain(value), []).append(value)
        same = {other: kept for kept, *others in spellings.values() for other in others}
        for other, kept in same.items():
            raise RunsError(
                f"{other!r} and {kept!r} may be one {name}, in pandas: "
                f"table = table.replace({{{name!r}: {same}}}); other names tell them apart"
            )


def refuse_copies(table: pd.DataFrame, method: str) -> None:
    """Refuses rows of a method which are all there twice: without a seed they count as runs.

    Raises:
        RunsError: Names rows.
    """
    texts = as_texts(table)
    for who, part in texts.groupby(method, sort=False):
        counts = part.value_counts()
        if len(counts) >= _FEWEST and counts.min() > 1:
            rows = part.index[(part == part.iloc[0]).all(axis=1)]
            raise RunsError(
                f"each row of {who} is there twice or more ({rows_said(rows)}), and no seed: "
                "delete the copies, or name the runs in a column seed"
            )


def _plain(value: str) -> str:
    number = as_number(value)
    if number is not None:
        return str(number)
    return re.sub(r"[\s_-]+", "", value.casefold())
