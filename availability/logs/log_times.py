"""Times in logs, masks and signals: the unit that makes all of a column lie in 1990 to 2100."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from f3ast_tff.availability.logs.log_table import GAPS, Coded, LogTable, coded, row_of
from f3ast_tff.availability.logs.time_units import (
    DECIDED,
    EARLIEST,
    FROM_START,
    LATEST,
    UNITS,
    WORDS,
    duration_text,
    fits,
    fitting_units,
    is_plausible,
    seconds_in,
    unit_named,
)
from f3ast_tff.core.errors import DataError

# What programs write for an end that has not come.
_OPEN = {*GAPS, "inf", "+inf", "infinity", "-", "unknown", "present", "still logged in"}
_ZONE = re.compile(r"[T ][0-9]{2}.*?(?:[zZ]|[+-][0-9]{2}(?::?[0-9]{2})?)$")
_NAMED_UTC = re.compile(r"\s*(?:UTC|GMT|utc|gmt)$")
_TWELVE = re.compile(
    r"[T ](?P<hour>0?[1-9]|1[0-2])(?P<rest>(?::[0-9]{2}){1,2}) ?(?P<half>[AaPp])[Mm]$"
)
# As Excel writes long numbers: none of the last digits is left.
_ROUNDED = re.compile(r"[1-9](?:\.[0-9]{1,5})?[eE]\+(?:0?9|[1-9][0-9])")
_FAR_YEAR = re.compile(r"(?:2[1-9]|[3-9][0-9]|00)[0-9]{2}-|1970-01-01[ T]00:00:00")
# Times are no longer, and begin with a digit: `now` would be another time on each reading.
_TIME = re.compile(r"[0-9][\x20-\x7e]{0,63}")
# Distinct numbers beyond 2100 that may stand for ends that have not come.
_MAX_SENTINELS = 2
# Seconds from 1970 to the last date that 64 bits hold in nanoseconds, in the year 2262.
_FARTHEST = 2**63 / 1e9
# With dots the day is first, everywhere; with slashes it may be either.
_DOTTED = re.compile(r"^(\d\d?)\.(\d\d?)\.(\d{4})\b")
_FRACTION = re.compile(r"(:\d\d),(?=\d)")
_SLASHED = re.compile(r"\d\d?[/-]\d\d?[/-]\d{2,4}\b")
_DATE = re.compile(rf"\d{{4}}-\d\d?-\d\d?|\d{{8}}T\d|{_DOTTED.pattern}")


@dataclass(frozen=True)
class Times:
    """Times of the columns of a table.

    Attributes:
        seconds: Seconds of each column, `float64 [n]`; infinity for an end that has not come.
        form: How they were read, in words.
        since_1970: Whether they count from 1970, rather than from the log's start.
        local: Whether they are dates without a zone, counted as UTC.
    """

    seconds: tuple[np.ndarray, ...]
    form: str
    since_1970: bool
    local: bool = False


@dataclass
class _Column:
    """A column of times on its way to seconds.

    Attributes:
        column: The Series.
        ends: Whether it holds ends, which may not have come.
        values: Seconds, or numbers of an unknown unit, `float64 [n]`.
        is_open: Rows whose end has not come, `bool [n]`.
        kind: `dates`, `numbers`, or `durations` since the log's start.
        zoned: Whether dates have zones; `None` without a date.
    """

    column: Any
    ends: bool
    values: np.ndarray
    is_open: np.ndarray
    kind: str
    zoned: bool | None = None


def read_times(
    columns: Sequence[Any],
    name: str,
    unit: str = "",
    *,
    ends: Sequence[bool] = (False,),
    flags: str = "--time_unit, of a run --table_time_unit",
    table: LogTable | None = None,
) -> Times:
    """Reads columns of times, all on one clock.

    Numbers are seconds, milliseconds, microseconds or nanoseconds since 1970, compact dates as
    20240603180000, or another of `UNITS`: whatever makes all of them lie within 1990 to 2100, and
    look like the times of a log (`time_units.is_plausible`). Smaller numbers are seconds from the
    log's start, or in the unit of the column's name, as in `time_min`. Texts are dates in ISO 8601,
    also as databases write them (`2024-06-03 18:00:00+02`, `... UTC`). A zone is in all rows of all
    columns or in none.

    Args:
        columns: Series of numbers, texts or dates, of one length.
        name: Name in messages.
        unit: One of `UNITS`; empty to decide by the numbers.
        ends: Whether a column holds ends, which may not have come: empty, infinite or after 2100.
        flags: Flags that give the unit, for messages.
        table: Table of the columns, whose codes are then used.

    Raises:
        DataError: If a time cannot be read, or two units fit; names column and row.
    """
    if unit not in ("", *UNITS):
        raise DataError(f"{name}: time unit {unit!r}: must be one of {', '.join(UNITS)}")
    found = [_column(column, end, name, table) for column, end in zip(columns, ends)]
    _check_zones(found, name)
    dates = [each for each in found if each.kind == "dates"]
    numbers = [each for each in found if each.kind == "numbers"]
    for each in dates:
        _check_years(each, name)
    form = _form_of_dates(dates) if dates else WORDS["start"]
    absolute = [bool(dates)] * (len(found) > len(numbers))
    if numbers:
        given = unit or _unit_by_name(numbers)
        chosen = given or _unit(numbers, name, flags)
        for each in numbers:
            _scale(each, chosen, name, flags)
        said = WORDS[chosen]
        if given and not all(fits(e.values[~e.is_open], "s").all() for e in numbers):
            # Numbers of that unit that count from the log's start.
            said, chosen = said.replace("since 1970", "from the log's start"), "start"
        form = form if dates else said
        absolute.append(chosen != "start")
    if len(set(absolute)) > 1:
        both = " and ".join(repr(each.column.name) for each in found)
        raise DataError(f"{name}: columns {both}: one has dates, one counts from the log's start")
    seconds = tuple(np.where(each.is_open, np.inf, each.values) for each in found)
    local = bool(dates) and not any(each.zoned for each in dates)
    return Times(seconds, form, absolute[0], local)


def looks_like_dates(column: Any) -> bool:
    """Whether a column holds dates, by its type or its first entries."""
    import pandas as pd

    if column.dtype.kind in "Mm" or isinstance(column.dtype, pd.PeriodDtype):
        return True
    if column.dtype.kind in "biuf":
        return False
    first = [str(value).strip() for value in column.iloc[:10]]
    return 2 * sum(bool(_DATE.match(text)) for text in first) > len(first)


def span_text(times: Times, first: float, last: float) -> str:
    """Returns the span of a log in words: its days, or its duration."""
    if not times.since_1970:
        return duration_text(last - first)
    began, ended = (str(np.datetime64(int(each), "s"))[:10] for each in (first, last))
    return f"{began} to {ended[5:] if ended[:4] == began[:4] else ended}"


def _column(column: Any, ends: bool, name: str, table: LogTable | None) -> _Column:
    import pandas as pd

    if isinstance(column.dtype, pd.PeriodDtype):
        column = column.dt.to_timestamp()
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    kind = column.dtype.kind
    if kind not in "Mmiuf":
        what = f"{name}: column {column.name!r}"
        codes = coded(column, what) if table is None else table.coded(column.name)
        return _of_texts(column, ends, name, codes)
    values = _of_dtype(column) if kind in "Mm" else column.to_numpy(np.float64, na_value=np.nan)
    found = _Column(column, ends, values, ~np.isfinite(values), "numbers")
    if not ends:
        _refuse(column, found.is_open, "must be a time", name)
    if kind in "Mm":
        found.kind = "dates" if kind == "M" else "durations"
        found.zoned = kind == "M" and column.dt.tz is not None
    return found


def _of_dtype(column: Any) -> np.ndarray:
    import pandas as pd

    if column.dtype.kind == "m":
        return np.asarray(column.dt.total_seconds().to_numpy(float))
    zero = pd.Timestamp("1970-01-01", tz="UTC" if column.dt.tz is not None else None)
    return np.asarray(((column - zero) / pd.Timedelta(seconds=1)).to_numpy(float))


def _of_texts(column: Any, ends: bool, name: str, found: Coded) -> _Column:
    """The column of texts, or of values of several types: numbers, else dates."""
    import pandas as pd

    is_open = found.of_rows([word in _OPEN for word in found.words], True)
    if not ends:
        _refuse(column, is_open, "must be a time", name)
    else:
        is_open |= found.of_rows([bool(_FAR_YEAR.match(text)) for text in found.texts], True)
    values = found.of_rows(found.numbers, np.nan)
    odd = ~np.isfinite(values) & ~is_open
    if 2 * odd.sum() <= (~is_open).sum():
        rounded = found.of_rows([bool(_ROUNDED.fullmatch(text)) for text in found.texts], False)
        if rounded.sum() == (~is_open).sum():
            _refuse(column, rounded, "is rounded, as Excel does: export all digits, as text", name)
        _refuse(column, odd, "must be a time: a number, as other rows are", name)
        return _Column(column, ends, values, is_open, "numbers")
    # Other forms say neither which number is the month nor, as 08:00, which day it is.
    texts: Any = pd.Series([t if _TIME.fullmatch(t) else "" for t in found.texts], dtype=object)
    dates = pd.to_datetime(texts, errors="coerce", utc=True, format="ISO8601")
    failed = dates.isna().to_numpy()
    if failed.any():
        plain = [_NAMED_UTC.sub("Z", year_first(text)) for text in texts[failed]]
        texts[failed] = [_TWELVE.sub(_of_a_day, text) for text in plain]
        # All again: pandas 3 reads seconds and fractions of them in two units.
        dates = pd.to_datetime(texts, errors="coerce", utc=True, format="ISO8601")
    since = (dates - pd.Timestamp("1970-01-01", tz="UTC")) / pd.Timedelta(seconds=1)
    values = found.of_rows(since.to_numpy(float), np.nan)
    # Years that pandas 2 does not read, and pandas 3 does.
    values[np.abs(values) > _FARTHEST] = np.nan
    allowed = "must be a time: a number, or a date as 2024-06-01T18:00:00Z"
    if any(map(_SLASHED.match, found.texts)):
        allowed += "; whether the month or the day is first, pd.to_datetime takes as dayfirst"
    _refuse(column, np.isnan(values) & ~is_open, allowed, name)
    zoned = found.of_rows([bool(_ZONE.search(text)) for text in texts], False) & ~is_open
    if zoned.any():
        _refuse(column, ~zoned & ~is_open, "must have a zone, as other rows do", name)
    return _Column(column, ends, values, is_open, "dates", bool(zoned.any()))


def year_first(text: str) -> str:
    """Returns a date such as 3.6.2024 18:00:00,5 as 2024-06-03 18:00:00.5; others as they are."""
    text = _FRACTION.sub(r"\1.", text)
    return _DOTTED.sub(lambda found: f"{found[3]}-{int(found[2]):02d}-{int(found[1]):02d}", text)


def _of_a_day(found: re.Match[str]) -> str:
    """A time by the 12-hour clock by that of 24 hours: 12 AM is 00, 12 PM is 12."""
    hour = int(found["hour"]) % 12 + 12 * (found["half"].lower() == "p")
    return f" {hour:02d}{found['rest']}"


def _refuse(column: Any, wrong: np.ndarray, allowed: str, name: str) -> None:
    rows = np.flatnonzero(wrong)
    if len(rows):
        said = repr(str(column.iloc[rows[0]])[:80])
        row = row_of(column, int(rows[0]))
        raise DataError(f"{name}: column {column.name!r}, {row} is {said}: {allowed}")


def _check_zones(found: list[_Column], name: str) -> None:
    """Refuses dates with a zone in one column and without in another: they are hours apart."""
    with_zone = [each for each in found if each.zoned is True]
    bare = [e for e in found if e.kind == "dates" and not e.zoned and not e.is_open.all()]
    if with_zone and bare:
        there = f"column {with_zone[0].column.name!r}"
        allowed = f"must have a zone, as {there} has"
        _refuse(bare[0].column, ~bare[0].is_open, allowed, name)


def _check_years(each: _Column, name: str) -> None:
    if each.ends:
        each.is_open = each.is_open | (each.values >= LATEST)
    known = ~each.is_open
    within = (each.values >= EARLIEST) & (each.values < LATEST)
    if (within & known).any():
        _refuse(each.column, known & ~within, "must be within 1990 to 2100, as other rows", name)


def _unit_by_name(numbers: list[_Column]) -> str:
    """The unit in the name of the first column of numbers too small to be times since 1970."""
    first = next((each for each in numbers if not each.ends), numbers[0])
    values = first.values[~first.is_open]
    unit = unit_named(first.column.name)
    small = bool((np.abs(seconds_in(values, unit)) < FROM_START).all())
    return unit if small and not fitting_units(values) else ""


def _unit(numbers: list[_Column], name: str, flags: str) -> str:
    """The only unit that fits all starts; ends follow it, as they may not have come."""
    strict = [each for each in numbers if not each.ends] or numbers
    values = np.concatenate([each.values[~each.is_open] for each in strict])
    if not len(values):
        return "start"
    fitting = fitting_units(values)
    column = strict[0].column
    plausible = [unit for unit in fitting if is_plausible(values, unit)]
    if fitting and not plausible:
        seconds = seconds_in(values, fitting[0])
        said = span_text(Times((), "", True), float(seconds.min()), float(seconds.max()))
        allowed = f"would be {WORDS[fitting[0]]}, {said}: if so, say it by {flags}"
        raise DataError(f"{name}: column {column.name!r} {allowed}")
    fitting = plausible
    if len(fitting) > 1:
        both = " or ".join(WORDS[unit] for unit in fitting)
        raise DataError(f"{name}: column {column.name!r} may be {both}: say which by {flags}")
    if fitting:
        return fitting[0]
    small = np.abs(values) < FROM_START
    if small.all() and 2 * fits(values, "date").sum() <= len(values):
        if not is_plausible(values, "start"):
            shown = f"{values.min():.10g} to {values.max():.10g}, would be seconds from a start"
            allowed = f"say the unit by {flags}, or give the times in seconds"
            raise DataError(f"{name}: column {column.name!r}, {shown}: {allowed}")
        return "start"
    inside = {unit: fits(values, unit) for unit in DECIDED}
    best = max(inside, key=lambda each: int(inside[each].sum()))
    if small.sum() > inside[best].sum() and not small.all():
        best, inside["start"] = "start", small
    allowed = f"no unit makes all times lie within 1990 to 2100: give it by {flags}"
    wrong = np.zeros(len(values), bool)
    wrong[0] = True
    if 2 * inside[best].sum() > len(values):
        allowed = f"must be {WORDS[best]}, as other rows are; else give the unit by {flags}"
        wrong = ~inside[best]
    for each in strict:
        of_rows = np.zeros(len(each.values), bool)
        of_rows[~each.is_open], wrong = np.split(wrong, [(~each.is_open).sum()])
        _refuse(each.column, of_rows, allowed, name)
    raise AssertionError("a row is refused above")


def _scale(each: _Column, unit: str, name: str, flags: str) -> None:
    """Makes seconds of a column's numbers; the ends beyond 2100 have not come."""
    if each.ends:
        known = each.values[~each.is_open]
        others = [u for u in DECIDED if u != unit and len(known) and fits(known, u).all()]
        if others and unit != "start" and not fits(known, unit).any():
            unit = others[0]
        if fits(each.values, unit).any():
            each.is_open = each.is_open | (each.values <= 0)
        beyond = ~each.is_open & (seconds_in(each.values, unit, ends=True) >= LATEST)
        if len(np.unique(each.values[beyond])) > _MAX_SENTINELS:
            allowed = f"must be {WORDS[unit]}, as other rows are; else give the unit by {flags}"
            _refuse(each.column, beyond, allowed, name)
        each.is_open = each.is_open | beyond
    seconds = seconds_in(np.where(each.is_open, np.nan, each.values), unit)
    _refuse(each.column, np.isnan(seconds) & ~each.is_open, f"must be {WORDS[unit]}", name)
    each.values = seconds


def _form_of_dates(dates: list[_Column]) -> str:
    kind = "times" if dates[0].column.dtype.kind == "M" else "ISO times"
    if _DOTTED.match(str(dates[0].column.iloc[0]).strip()):
        kind = "times as day.month.year"
    return f"{kind} in UTC" if any(each.zoned for each in dates) else f"{kind} without a zone"
