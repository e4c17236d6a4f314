"""Lengths of spans in a column of their own: their unit, and whether they reach forward."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from f3ast_tff.availability.logs.log_columns import plain_name
from f3ast_tff.availability.logs.log_table import LogTable
from f3ast_tff.availability.logs.time_units import unit_named
from f3ast_tff.core.errors import DataError

# Units by which lengths are decided, and those that only their name or the user says.
_UNITS = {"s": 1.0, "ms": 1e-3, "min": 60.0, "h": 3600.0, "cs": 0.01}
_ALL_UNITS = {**_UNITS, "us": 1e-6, "ns": 1e-9, "d": 86_400.0}
_WORDS = {
    **{"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"},
    **{"min": "minutes", "h": "hours", "d": "days", "cs": "hundredths of a second"},
}
# Fewest pairs of successive spans that tell one unit from another.
_FEWEST_PAIRS = 10
_DAYS = re.compile(r"([0-9]+)(?:-|d )([0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?)")
_LENGTH = re.compile(
    r"(?:[0-9]{1,5}(?:-|d | days?,? ))?[0-9]{1,4}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?|"
    r"P[0-9.DTHMS]{1,30}"
)
# As people write them: `1h 30m`, `2 hrs, 5 mins`, `3 days 4 hours`.
_PART = re.compile(
    r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?(?:(w)(?:eeks?)?|(d)(?:ays?)?|(h)(?:ours?|rs?)?|"
    r"(ms)|(m)(?:inutes?|ins?)?|(s)(?:econds?|ecs?)?)(?:, ?| |$|(?=[0-9]))",
    re.IGNORECASE,
)
_SPELLED = re.compile(f"(?:{_PART.pattern}){{1,5}}", re.IGNORECASE)
_OF_PART = (7 * 86400.0, 86400.0, 3600.0, 1e-3, 60.0, 1.0)
# Fewest steps from row to row that tell totals from spans, and share of a period that is all of it.
_FEWEST_STEPS, _ALL = 4, 0.98
# Share of the spans that may reach beyond their device's next one.
_OVERLAPS = 0.05
# Distance from the next row, seconds and share of the length, within which a span ends there.
_NEAR, _RELATIVE = 2.0, 0.01
_OFTEN = 0.5


def is_named_duration(column: Any) -> bool:
    """Whether a column's name says that it holds lengths of time."""
    name = plain_name(column)
    words = ("duration", "elapsed", "uptime", "sessiontime", "connectedfor", "length", "lifetime")
    units = ("seconds", "minutes", "hours", "milliseconds")
    return name == "dur" or any(word in name for word in (*words, *units))


def holds_lengths(table: LogTable, column: Any) -> bool:
    """Whether all rows of a column have a length, as texts or by its name; events have some."""
    lengths, plain = seconds_of(table, column)
    return (not plain or is_named_duration(column)) and bool(np.isfinite(lengths).all())


def seconds_of(table: LogTable, column: Any) -> tuple[np.ndarray, bool]:
    """Returns lengths per row, NaN for none, and whether they are numbers without a unit.

    Texts are such as `00:35:12`, `1-02:03:04` (days before), `PT35M` or `1h 30m`; numbers have no
    unit.
    """
    import pandas as pd

    series = table.frame[column]
    if series.dtype.kind == "m":
        return series.dt.total_seconds().to_numpy(float), False
    found = table.coded(column)
    if np.isfinite(found.numbers).any():
        return found.of_rows(found.numbers, np.nan), True
    texts = pd.Series(
        [_DAYS.sub(r"\1 days \2", t) if _LENGTH.fullmatch(t) else "" for t in found.texts],
        dtype=object,
    )
    lengths = pd.to_timedelta(texts, errors="coerce").dt.total_seconds().to_numpy(float).copy()
    for k, text in enumerate(found.texts):
        if _SPELLED.fullmatch(text):
            lengths[k] = _spelled(text)
    return found.of_rows(lengths, np.nan), False


def _spelled(text: str) -> float:
    parts = [(float(found[1]), found.groups()[1:]) for found in _PART.finditer(text)]
    return sum(
        number * scale
        for number, units in parts
        for scale, unit in zip(_OF_PART, units)
        if unit is not None
    )


def read_duration(
    table: LogTable, column: Any, place: np.ndarray, began: np.ndarray, unit: str = ""
) -> tuple[np.ndarray, str]:
    """Returns the length of each span, seconds, and its unit in words.

    The unit of numbers is the one given, or in the column's name, such as `duration_ms`; else that
    by which most spans end where their device's next row begins; else seconds.

    Args:
        table: The table.
        column: Column of lengths.
        place: Device of each row, `int64 [n]`.
        began: Begin of each span, seconds, `float64 [n]`.
        unit: Unit of numbers, one of `time_units.UNITS`; empty to decide.

    Raises:
        DataError: If a length is none, or its unit is open; names column and row.
    """
    lengths, plain = seconds_of(table, column)
    wrong = ~(lengths >= 0)
    if wrong.any():
        entry = table.entry(column, int(np.argmax(wrong)))
        said = str(table.frame[column].iloc[int(np.argmax(wrong))]).strip()
        open_ = f"; {said} is hours or minutes, write {said}:00 or 0:{said}"
        open_ = open_ if re.fullmatch("[0-9]{1,2}:[0-9]{2}", said) else ""
        raise DataError(f"{entry}: must be a length of time, at least 0{open_}")
    if not plain:
        return lengths, ""
    unit = unit if unit in _ALL_UNITS else unit_named(column)
    unit = unit or _best_unit(table, column, place, began, lengths)
    return lengths * _ALL_UNITS[unit], f"{column} in {_WORDS[unit]}"


def _best_unit(
    table: LogTable, column: Any, place: np.ndarray, began: np.ndarray, lengths: np.ndarray
) -> str:
    counting = _counting_unit(place, began, lengths)
    if counting:
        return counting
    scores = {unit: _fit(place, began, lengths * scale) for unit, scale in _UNITS.items()}
    best = max(scores, key=lambda unit: scores[unit][0])
    if scores[best][0] > 0.1:
        return best
    if scores["s"][1] > _OVERLAPS:
        if are_of_ends(place, began, lengths):
            return "s"
        return "ms" if scores["ms"][1] <= _OVERLAPS else "s"
    pairs = len(place) - len(np.unique(place))
    if pairs >= _FEWEST_PAIRS and scores["min"][1] <= _OVERLAPS:
        open_units = [unit for unit in ("s", "min", "h") if scores[unit][1] <= _OVERLAPS]
        words = " or ".join(_WORDS[unit] for unit in open_units)
        flags = " or ".join(f"--time_unit={unit}" for unit in open_units)
        raise DataError(
            f"{table.name}: column {column!r} may be in {words}: say its unit by its name, such as "
            f"duration_min, or beside dates by {flags} (of a run --table_time_unit)"
        )
    return "s"


def are_of_ends(place: np.ndarray, times: np.ndarray, lengths: np.ndarray) -> bool:
    """Whether spans of lengths in seconds overlap if they begin at the times, not if they end.

    So do those of a counter, such as the time since a device started.
    """
    if counts_up(place, times, lengths):
        return True
    ahead, back = (_fit(place, each, lengths)[1] for each in (times, -times))
    return ahead > _OVERLAPS >= back


def period_of_totals(place: np.ndarray, began: np.ndarray, lengths: np.ndarray) -> float:
    """Returns the period of which lengths are parts, if each device has a row per period; else 0.

    So have totals, such as the minutes online of each day: they do not say when.
    """
    order = np.lexsort((began, place))
    steps = np.diff(began[order])[place[order][1:] == place[order][:-1]]
    period = float(np.median(steps)) if len(steps) >= _FEWEST_STEPS else 0.0
    if period <= 0 or (lengths > period).any() or ((began - began.min()) % period > 0).any():
        return 0.0
    parts = (lengths < _ALL * period).mean() > _OFTEN and len(np.unique(lengths)) > 1
    return period if parts else 0.0


def counts_up(place: np.ndarray, times: np.ndarray, lengths: np.ndarray) -> bool:
    """Whether lengths, in some unit, grow with the time from row to row of a device, as uptimes do.

    Args:
        place: Device of each row, `int64 [n]`.
        times: Time of each row, seconds, `float64 [n]`.
        lengths: Lengths, in any unit, `float64 [n]`; NaN for none.
    """
    return bool(_counting_unit(place, times, lengths, falls=False))


def _counting_unit(
    place: np.ndarray, times: np.ndarray, lengths: np.ndarray, *, falls: bool = True
) -> str:
    """The unit in which lengths grow with the time, or fall with it, and start again; or empty."""
    order = np.lexsort((times, place))
    same = place[order][1:] == place[order][:-1]
    steps = np.diff(lengths[order])
    pairs = same & (lengths[order][1:] > 0)
    if not pairs.any() or not (steps[same] > 0).any() or not (steps[same] < 0).any():
        return ""
    since, more = np.diff(times[order])[pairs], steps[pairs]
    more = np.abs(more) if falls else more
    shares = {
        unit: float((np.abs(since - more * scale) <= np.maximum(_NEAR, _RELATIVE * since)).mean())
        for unit, scale in _UNITS.items()
    }
    best = max(shares, key=lambda unit: shares[unit])
    return best if shares[best] >= _OFTEN else ""


def reaches_forward(
    place: np.ndarray, began: np.ndarray, lengths: np.ndarray, *, often: bool = False
) -> bool:
    """Whether lengths in some unit are those of spans that begin at the rows, not end there.

    Args:
        place: Device of each row, `int64 [n]`.
        began: Time of each row, seconds, `float64 [n]`.
        lengths: Lengths, in any unit, `float64 [n]`; NaN for none.
        often: Whether half of the spans must end where the next row begins.
    """
    if not np.isfinite(lengths).all():
        return False
    fits = [_fit(place, began, lengths * scale) for scale in _UNITS.values()]
    backward = max(_fit(place, -began, lengths * scale)[0] for scale in _UNITS.values())
    forward = max(fits)
    return forward[1] <= _OVERLAPS and forward[0] >= max(backward, _OFTEN if often else 0)


def reaches_back(place: np.ndarray, began: np.ndarray, lengths: np.ndarray) -> bool:
    """Whether lengths, where there are any, are those since the device's row before."""
    there = np.isfinite(lengths) & (lengths > 0)
    if not there.any():
        return True
    order = np.lexsort((began, place))
    same = np.append(False, place[order][1:] == place[order][:-1])
    since = np.append(0.0, np.diff(began[order]))
    rows = there[order] & same
    if not rows.any():
        return False
    found = [
        np.abs(since - lengths[order] * scale)[rows] <= np.maximum(_NEAR, _RELATIVE * since[rows])
        for scale in _UNITS.values()
    ]
    back = max(float(each.mean()) for each in found)
    known = np.where(there, lengths, 0.0)
    return back >= _OFTEN and back > max(_fit(place, began, known * u)[0] for u in _UNITS.values())


def _fit(place: np.ndarray, began: np.ndarray, lengths: np.ndarray) -> tuple[float, float]:
    """Share of the spans that end at their device's next row, and of those that reach beyond."""
    order = np.lexsort((began, place))
    at, far, where = began[order], lengths[order], place[order]
    steps = np.diff(at)
    pairs = (where[1:] == where[:-1]) & (steps > 0)
    if not pairs.any():
        return 0.0, 0.0
    rest = (steps - far[:-1])[pairs]
    near = np.maximum(_NEAR, _RELATIVE * far[:-1][pairs])
    ends = (np.abs(rest) <= near) & (far[:-1][pairs] > 0)
    return float(ends.mean()), float((rest < -near).mean())
