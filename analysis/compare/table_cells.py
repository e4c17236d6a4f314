"""Cells and rows of anybody's table: numbers, gaps, and rows in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from f3ast_tff.core.frame_columns import pandas_of
from f3ast_tff.settings.text_values import number_in

# Texts that stand for a value that was not measured.
_GAPS = frozenset({"", "NA", "N/A", "n/a", "#N/A", "null", "NULL", "None", "-", "–", "—"})
_SHOWN = 5
# The name that row labels get where they may be a seed or a round.
INDEX = "index"


def is_measured(value: Any) -> bool:
    """Returns whether a cell holds a value: it is not empty, `None`, `NA`, `-` or the like."""
    if isinstance(value, str):
        return value.strip() not in _GAPS
    return value is not None and value is not pd.NA


def as_number(value: Any) -> float | None:
    """Returns a cell as a number, NaN for a missing one; `None` for a text.

    An integer that no float holds is infinite, as its text is.
    """
    try:
        return number_in(value) if isinstance(value, str) else float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        return float("nan") if value is None or value is pd.NA else None


def is_text(values: pd.Series[Any]) -> bool:
    """Returns whether a column holds a text or a truth value."""
    there = [value for value in values if is_measured(value)]
    return any(as_number(value) is None or isinstance(value, bool) for value in there)


def as_texts(table: pd.DataFrame) -> pd.DataFrame:
    """Returns a table's values as text; a missing one is `nan`, which pandas 3 keeps missing."""
    return table.assign(**{str(name): as_text(table[name]) for name in table})


def as_text(values: pd.Series[Any]) -> pd.Series[str]:
    """Returns a column's values as text; see `as_texts`."""
    return values.map(str)


def rows_said(labels: Sequence[Any] | pd.Index[Any]) -> str:
    """Returns rows in words, such as `rows 2, 3 and 7 more`."""
    shown = [str(label) for label in list(labels)[:_SHOWN]]
    more = len(labels) - len(shown)
    words = "row" if len(labels) == 1 else "rows"
    return f"{words} {', '.join(shown)}{f' and {more} more' if more else ''}"


def labelled(table: Any) -> pd.DataFrame:
    """Returns a table as pandas' DataFrame, whose index tells rows apart; other labels are columns.

    They may be the seeds, or the rounds of one run per method: without a name they are called
    `index`. Nulls of Arrow and polars are `None`, unlike NaN, the score of a run that diverged; of
    pandas' floats both are NaN. Categories, and other types that only pandas has, become objects.

    Raises:
        ValueError: If it is no table.
    """
    frame, schema = pandas_of(table).copy(), getattr(table, "schema", None)
    of_pandas = schema is None or b"pandas" in (getattr(schema, "metadata", None) or {})
    if frame.index.nlevels > 1:
        frame = frame.reset_index()
    elif not frame.index.is_unique:
        label = INDEX if frame.index.name is None else str(frame.index.name)
        frame = frame.rename_axis(index=label).reset_index(drop=label in frame)
    for name in frame if frame.columns.is_unique else ():
        is_null = None if of_pandas else getattr(table[name], "is_null", None)
        gaps = frame[name].isna() if is_null is None else np.asarray(is_null())
        if not isinstance(frame[name].dtype, np.dtype) or (is_null is not None and gaps.any()):
            frame[name] = frame[name].astype(object).mask(gaps, None)
    return frame
