"""Times in two columns, a date and a time of day, such as `date` and `hour`."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection
from typing import Any

from f3ast_tff.availability.logs.log_columns import KNOWN, plain_name
from f3ast_tff.availability.logs.log_times import looks_like_dates, year_first

_LOGGER = logging.getLogger(__name__)
_USUAL = {name for names in KNOWN.values() for name in names}
_OF_DAY = {
    "date": ("time", "hour", "clock", "time_of_day"),
    "datum": ("uhrzeit", "zeit", "stunde"),
    "fecha": ("hora",),
}
_DAY = re.compile(r"\d{4}-?\d\d-?\d\d(?:[ T]00:00(?::00(?:\.0+)?)?)?")
_CLOCK = re.compile(r"[0-2]?\d:[0-5]\d(?::[0-5]\d(?:\.\d+)?)?")


def with_joined_times(frame: Any, own: Collection[str] = ()) -> Any:
    """Returns a frame whose dates and times of day, in columns of their own, are one column.

    A column of days whose name is `date`, or has that word, is joined with the column whose name
    has `time`, `hour` or `clock` there: `start_date` with `start_time` or `start_hour`. Times of
    day are such as 18:30 or 18:30:05, hours whole numbers in 0..23. The new column has the name of
    the dates, or that of the times if it is the usual one. Other frames are returned as they are.

    Args:
        frame: A DataFrame.
        own: Columns that the user names, which stay.
    """
    kept = {name.strip().lower() for name in own}
    labels = {str(column).strip().lower(): column for column in frame.columns}
    frame = _with_shifts(frame, {label: c for label, c in labels.items() if label not in kept})
    for label, column in labels.items():
        date = next((word for word in _OF_DAY if word in label), "")
        wanted = [label.replace(date, word) for word in _OF_DAY.get(date, ())]
        partner = next((labels[each] for each in wanted if each in labels), None)
        days = None if partner is None else _days(frame[column])
        if days is None:
            continue
        times = _times_of_day(frame[partner])
        if times is not None:
            name, other = (column, partner) if label in _USUAL else (partner, column)
            if str(other).strip().lower() not in kept:
                frame = frame.assign(**{str(name): days + "T" + times}).drop(columns=[other])
    return frame


def _with_shifts(frame: Any, labels: dict[str, Any]) -> Any:
    """A frame whose `date` and two times of day, a start and an end, are two times.

    An end that is not after its start is one of the next day.
    """
    import pandas as pd

    named = {plain_name(label): column for label, column in labels.items()}
    day, begin, end = (
        next((named[each] for each in map(plain_name, KNOWN[part]) if each in named), None)
        for part in ("time", "start", "end")
    )
    if day is None or begin is None or end is None:
        return frame
    texts, begins, ends = _days(frame[day]), *map(_times_of_day, (frame[begin], frame[end]))
    if texts is None or begins is None or ends is None:
        return frame
    days = pd.Series(pd.to_datetime(texts))
    later = ends <= begins
    if later.any():
        text = "%d spans of one date end at or before their start: read as of the next day"
        _LOGGER.warning(text, later.sum())
    next_day = days.where(~later, days + pd.Timedelta(days=1))
    starts, stops = (each.dt.strftime("%Y-%m-%dT") for each in (days, next_day))
    return frame.assign(**{str(begin): starts + begins, str(end): stops + ends}).drop(columns=[day])


def _days(column: Any) -> Any | None:
    """The column as texts of days; `None` if it has something else."""
    texts = column.astype(str).str.strip().map(year_first)
    are_days = looks_like_dates(column) and texts.map(_DAY.fullmatch).notna().all()
    return texts.str[:10] if are_days else None


def _times_of_day(column: Any) -> Any | None:
    """The column as texts of hours, minutes and seconds; `None` if it has something else."""
    import pandas as pd

    texts = column.astype(str).str.strip()
    if texts.map(_CLOCK.fullmatch).notna().all():
        return texts.str.zfill(5).where(texts.str.count(":") == 1, texts.str.zfill(8))
    numbers = pd.to_numeric(column, errors="coerce")
    if numbers.isna().any() or not numbers.between(0, 23).all() or (numbers % 1).any():
        return None
    return numbers.astype(int).astype(str).str.zfill(2) + ":00"
