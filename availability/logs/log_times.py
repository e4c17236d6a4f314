"""Times in logs of online clients: dates or seconds, the rounds of masks, times far from others."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from f3ast_tff.availability.logs.device_traces import DAY
from f3ast_tff.core.errors import DataError

_LOGGER = logging.getLogger(__name__)
# Names of columns of times.
TIMES = ("time", "timestamp", "date", "datetime", "t")
# Larger times, beyond some 5,000 years in seconds, are milliseconds.
_MAX_SECONDS = 1e11
_ZONE = r"(?:[zZ]|[+-]\d{2}:?\d{2})$"
# A log this many times longer than the middle 90% of its times has a wrong clock, presumably.
_FAR = 20


def seconds_of(column: Any, name: str, gap: float | None = None) -> np.ndarray:
    """Times in seconds, `float64 [n]`; `gap` for an empty entry if any is allowed."""
    import pandas as pd

    empty = column.isna() | (column.astype(str).str.strip() == "")
    values = np.full(len(column), np.nan)
    if column.dtype.kind == "m":
        values = column.dt.total_seconds().to_numpy(float)
    elif column.dtype.kind != "M":
        values = pd.to_numeric(column.where(~empty), errors="coerce").to_numpy(float)
    allowed = "must be seconds, or dates as 2024-06-01T18:00:00Z"
    if np.isfinite(values).any():
        allowed = "must be seconds or milliseconds since 1970, as other rows are"
        large = np.abs(values) > _MAX_SECONDS
        small = np.abs(values) <= _MAX_SECONDS
        if large.any() and small.any():
            fewer = large if large.sum() < small.sum() else small
            values = np.where(fewer, np.nan, values)
        elif large.any():
            values = values / 1000
    else:
        _check_zones(column, name)
        # Other forms say neither which number is the month nor, as 08:00, which day it is.
        dates = pd.to_datetime(column.where(~empty), errors="coerce", utc=True, format="ISO8601")
        zero = pd.Timestamp(0, tz="UTC")
        values = ((dates - zero) / pd.Timedelta(seconds=1)).to_numpy(float)
    values = np.where(empty, np.nan if gap is None else gap, values)
    wrong = np.flatnonzero(np.isnan(values))
    if len(wrong):
        said = repr(str(column.iloc[wrong[0]]))
        row = row_of(column, wrong[0])
        raise DataError(f"{name}: column {column.name!r}, {row} is {said}: {allowed}")
    return values


def row_of(table: Any, place: int) -> str:
    """Names a row: `line 7` of a file, `row 5` of a frame."""
    return f"{table.index.name or 'row'} {table.index[place]}"


def _check_zones(column: Any, name: str) -> None:
    """Refuses dates with and without a zone in one column: they are hours apart."""
    if column.dtype.kind == "M":
        return
    texts = column.astype(str).str.strip()
    zoned = texts.str.contains(_ZONE)
    bare = np.flatnonzero(~zoned & (texts.str.len() > len("2024-06-01")) & column.notna())
    if zoned.any() and len(bare):
        said, row = repr(texts.iloc[bare[0]]), row_of(column, bare[0])
        allowed = "must have a zone, as other rows do"
        raise DataError(f"{name}: column {column.name!r}, {row} is {said}: {allowed}")


def clock_of(column: Any, name: str) -> tuple[int, float] | None:
    """Returns the length of the rounds of masks, and the time of the first one since midnight.

    Args:
        column: Number or time of each row.
        name: Name in messages.

    Returns:
        Both in seconds; `None` if the column counts the rounds.

    Raises:
        DataError: If the rows are not evenly spaced, in the order of time: they would be other
            rounds.
    """
    import pandas as pd

    is_date = column.dtype.kind in "Mm"
    # Words that are no numbers, such as names of rounds, are allowed.
    counts = np.full(len(column), np.nan) if is_date else pd.to_numeric(column, errors="coerce")
    steps = np.diff(counts)
    if (steps == 1).all():
        return None
    unit, spacing, clock = "1", 1.0, None
    wrong = np.flatnonzero(np.isfinite(steps) & (steps != 1))
    if is_date or str(column.name).strip().lower() in TIMES:
        times = seconds_of(column, name)
        steps = np.diff(times)
        spacing = max(1.0, round(float(np.median(steps))))
        unit, wrong, clock = f"{spacing:g} s", np.flatnonzero(steps != spacing), times[0] % DAY
    if len(wrong):
        allowed = f"must be the row before plus {unit}"
        raise DataError(
            f"{name}: column {column.name!r}, {row_of(column, wrong[0] + 1)}: {allowed}"
        )
    return None if clock is None else (int(spacing), float(clock))


def clock_of_index(frame: Any, name: str) -> tuple[int, float] | None:
    """Returns `clock_of` the dates in a frame's index; `None` for another index."""
    import pandas as pd

    if not isinstance(frame.index, (pd.DatetimeIndex, pd.TimedeltaIndex)):
        return None
    return clock_of(pd.Series(frame.index, name="index"), name)


def say_far_times(times: np.ndarray, name: str) -> None:
    """Warns of a log that a few entries make far longer than most of its entries last."""
    early, late = np.quantile(times, (0.05, 0.95))
    whole, most = times.max() - times.min(), late - early
    if whole > _FAR * most > 0:
        text = "%s: lasts %.3g days, and most of it %.3g days: a few entries have another clock"
        _LOGGER.warning(text, name, whole / DAY, most / DAY)
