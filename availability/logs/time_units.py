"""Units of times written as numbers, and the range in which times of logs lie."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from f3ast_tff.availability.logs.device_traces import DAY

# Units by which numbers are decided; `date` is 20240603, 2024060318, 20240603180000 and the like.
DECIDED = ("s", "ms", "us", "ns", "date", "ticks", "filetime")
# Seconds per unit, of units that only the user or a column's name says.
_LONG_UNITS = {"min": 60.0, "h": 3600.0, "d": 86_400.0}
# Units that a user may name.
UNITS = (*DECIDED, *_LONG_UNITS)
# Units per second, and seconds from the unit's zero to 1970.
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9, "ticks": 10**7, "filetime": 10**7}
_ZERO = {"ticks": 62_135_596_800, "filetime": 11_644_473_600}
# 1990 and 2101, seconds since 1970.
EARLIEST, LATEST = 631_152_000, 4_133_980_800
# Smaller numbers may count seconds from the log's start: 19 years.
FROM_START = 600_000_000
# Numbers of which all lie before 1995 or after 2070 have another zero or unit, presumably.
_PLAUSIBLE = 788_918_400, 3_155_760_000
# So do many within 10 s, and numbers from a log's start that begin late or end after years.
_MANY, _SHORT, _LATE, _LONG = 10, 10.0, 30 * DAY, 5 * 365 * DAY
# Many seconds from a log's start within this are hours or days, presumably.
_SHORT_START = 300.0
# Forms of compact dates by their number of digits.
_COMPACT = {8: "%Y%m%d", 10: "%Y%m%d%H", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S", 17: "%Y%m%d%H%M%S%f"}
# First two digits of the years after 2100.
_FAR_CENTURY = 21
WORDS = {
    "s": "seconds since 1970",
    "ms": "milliseconds since 1970",
    "us": "microseconds since 1970",
    "ns": "nanoseconds since 1970",
    "date": "compact dates",
    "ticks": "ticks of 100 ns since the year 1",
    "filetime": "units of 100 ns since 1601",
    "min": "minutes since 1970",
    "h": "hours since 1970",
    "d": "days since 1970",
    "start": "seconds from the log's start",
}
# Words of units in names of columns; abbreviations only at the end.
_SPELLED = {
    **dict.fromkeys(("nanosecond", "nanos"), "ns"),
    **dict.fromkeys(("microsecond", "micros"), "us"),
    **dict.fromkeys(("millisecond", "millis", "msec"), "ms"),
    **dict.fromkeys(("second", "sec"), "s"),
    **{"minute": "min", "hour": "h", "hr": "h", "day": "d"},
}
_ABBREVIATED = ("ns", "us", "ms", "s", "min", "h")


def unit_named(column: Any) -> str:
    """Returns the unit in a column's name, such as `ms` of `duration_ms`; empty without one.

    Examples:
        >>> from f3ast_tff.availability.logs.time_units import unit_named
        >>> [unit_named(n) for n in ("t_min", "durationMinutes", "Dauer (h)", "hours_on", "time")]
        ['min', 'min', 'h', 'h', '']
    """
    words = re.findall("[a-z]+", re.sub("(?<=[a-z0-9])(?=[A-Z])", " ", str(column)).lower())
    if len(words) > 1 and words[-1] in _ABBREVIATED:
        return words[-1]
    found = [_SPELLED.get(word) or _SPELLED.get(word.removesuffix("s")) for word in words]
    return next((unit for unit in found if unit), "")


def fitting_units(values: np.ndarray) -> list[str]:
    """The units in which all values lie within 1990 to 2100."""
    return [unit for unit in DECIDED if fits(values, unit).all()]


def fits(values: np.ndarray, unit: str) -> np.ndarray:
    """Whether each number is within 1990 to 2100 in a unit, `bool [n]`."""
    if unit == "date":
        if not (np.isfinite(values) & (values == np.rint(values)) & (values >= 1e7)).any():
            return np.zeros(len(values), bool)
        seconds = _of_compact(values)
    else:
        seconds = _scaled(values, unit)
    return np.asarray((seconds >= EARLIEST) & (seconds < LATEST))


def _scaled(values: np.ndarray, unit: str) -> np.ndarray:
    seconds = values * _LONG_UNITS.get(unit, 1) / _PER_SECOND.get(unit, 1)
    return np.asarray(seconds - _ZERO.get(unit, 0))


def is_plausible(values: np.ndarray, unit: str) -> bool:
    """Whether numbers in a unit, or in seconds from a log's `start`, look like the times of a log.

    Args:
        values: Numbers that fit the unit, `float64 [n]`, at least one.
        unit: One of `UNITS`, or `start`.
    """
    seconds = seconds_in(values, unit)
    first, last = float(seconds.min()), float(seconds.max())
    many = len(values) >= _MANY and len(np.unique(values)) >= _MANY
    if unit == "start":
        late = first > max(_LATE, _MANY * (last - first))
        return not (many and (late or not _SHORT_START <= last - first <= _LONG))
    if last < _PLAUSIBLE[0] or first > _PLAUSIBLE[1]:
        return False
    return not (many and last - first < _SHORT)


def _of_compact(values: np.ndarray) -> np.ndarray:
    """Seconds since 1970 of compact dates, `float64 [n]`; NaN for numbers that are none."""
    import pandas as pd

    whole = np.isfinite(values) & (values == np.rint(values)) & (values >= 1e7) & (values < 1e17)
    years = values[whole] // 10.0 ** (np.floor(np.log10(values[whole])) - 3)
    # Texts of many numbers take long.
    if not ((years >= 1990) & (years <= 2100)).any():
        return np.full(len(values), np.nan)
    texts: Any = pd.Series(np.where(whole, values, 0).astype(np.int64)).astype(str)
    digits = int(texts.str.len()[whole].iloc[0]) if whole.any() else 0
    if digits not in _COMPACT:
        return np.full(len(values), np.nan)
    same = whole & (texts.str.len() == digits).to_numpy()
    dates = pd.to_datetime(texts.where(same), format=_COMPACT[digits], errors="coerce", utc=True)
    seconds = (dates - pd.Timestamp("1970-01-01", tz="UTC")) / pd.Timedelta(seconds=1)
    return np.asarray(seconds.to_numpy(float))


def seconds_in(values: np.ndarray, unit: str, *, ends: bool = False) -> np.ndarray:
    """Seconds of numbers in a unit; NaN for no date, infinity for an end such as 99991231."""
    if unit != "date":
        return _scaled(values, unit)
    seconds = _of_compact(values)
    if ends:
        with np.errstate(divide="ignore", invalid="ignore"):
            century = values // 10 ** (np.floor(np.log10(values)) - 1)
        seconds = np.where(century >= _FAR_CENTURY, np.inf, seconds)
    return seconds


def is_since_1970(column: Any) -> bool:
    """Whether a column of numbers can only be times since 1970, or compact dates."""
    import pandas as pd

    values = pd.to_numeric(pd.Series(column), errors="coerce").to_numpy(float, na_value=np.nan)
    return len(values) > 0 and bool(fitting_units(values))


def duration_text(seconds: float) -> str:
    """Returns a duration in words, such as `15 min`."""
    for unit, length in (("days", DAY), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length or unit == "h" and seconds >= length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.3g} s"
