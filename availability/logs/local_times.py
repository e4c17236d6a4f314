"""Local times of logs: their zone, and the hour that comes twice at the end of summer time."""

from __future__ import annotations

import numpy as np

from f3ast_tff.availability.logs.device_traces import DAY
from f3ast_tff.availability.logs.log_table import LogTable
from f3ast_tff.core.errors import DataError, ParameterError

_HOUR = 3600
# Smaller steps back are entries that were written out of order.
_LEAST = 30
# Summer time ends at night, once a year.
_NIGHT = 5 * _HOUR
_YEAR = 365 * DAY


def check_no_fall_back(
    seconds: np.ndarray, place: np.ndarray, table: LogTable, column: str
) -> None:
    """Refuses local times that fall back by an hour or less, at night, once a year.

    Args:
        seconds: Local time of each row, `float64 [n]`.
        place: Device of each row, `int64 [n]`.
        table: The table.
        column: Column of the times.

    Raises:
        DataError: If they do; asks for the zone.
    """
    order, steps = _steps(seconds, place)
    back = steps < 0
    if not back.any() or (steps < -_HOUR).any():
        return
    rows = order[1:][back & (steps < -_LEAST)]
    if not len(rows) or (seconds[rows] % DAY > _NIGHT).any():
        return
    days, whole = np.unique(seconds[rows] // DAY), float(np.ptp(seconds))
    if len(days) > 1 + whole / _YEAR:
        return
    row = int(rows.min())
    raise DataError(
        f"{table.entry(column, row)}: falls back by {-steps[back].min() / 60:.3g} min within the "
        f"rows of a device ({len(rows)} rows do): are these local times at the end of summer time? "
        "Say their zone by --columns=zone=Europe/Berlin, or whichever it is (UTC for none)"
    )


def in_utc(
    seconds: np.ndarray, zone: str, place: np.ndarray, table: LogTable, column: str
) -> tuple[np.ndarray, int]:
    """Returns times in UTC, and the number of rows of which the order of rows does not tell.

    Of the hour that comes twice, a device's rows are the first until one falls back.

    Args:
        seconds: Local time of each row, `float64 [n]`; infinity for an open end.
        zone: Name of the zone, such as `Europe/Berlin`.
        place: Device of each row, `int64 [n]`.
        table: The table.
        column: Column of the times.

    Raises:
        ParameterError: If the zone is unknown.
        DataError: If a time is within the hour that is left out at the start of summer time.
    """
    import pandas as pd

    known = np.isfinite(seconds)
    local = pd.to_datetime(pd.Series(np.where(known, seconds, 0.0)), unit="s").dt
    try:
        once = local.tz_localize(zone, ambiguous="NaT", nonexistent="shift_forward")
    except (KeyError, ValueError, OSError) as error:
        allowed = f"zone {zone!r} must be a name such as Europe/Berlin"
        raise ParameterError("table_columns", f"zone={zone}", allowed) from error
    twice = once.isna().to_numpy() & known
    first = np.ones(len(seconds), bool)
    order, steps = _steps(seconds, place)
    open_rows = 0
    for rows in _runs(order, twice, place, seconds):
        falls = np.append(False, np.diff(seconds[rows]) < 0)
        first[rows] = ~np.maximum.accumulate(falls)
        open_rows += 0 if falls.any() else len(rows)
    moved = local.tz_localize(zone, ambiguous=first, nonexistent="NaT")
    if (none := moved.isna().to_numpy()).any():
        row = int(np.argmax(none))
        raise DataError(f"{table.entry(column, row)}: there is no such time in {zone}")
    zero = pd.Timestamp("1970-01-01", tz="UTC")
    found = ((moved - zero) / pd.Timedelta(seconds=1)).to_numpy(float)
    return np.where(known, found, seconds), open_rows


def _steps(seconds: np.ndarray, place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows by device, and the steps from row to row within devices; newest-first rows reversed."""
    order = np.argsort(place, kind="stable")
    same = place[order][1:] == place[order][:-1]
    steps = np.where(same, np.diff(seconds[order]), 0.0)
    if (steps < 0).sum() > (steps > 0).sum():
        order = np.argsort(place[::-1], kind="stable")
        order = len(place) - 1 - order
        same = place[order][1:] == place[order][:-1]
        steps = np.where(same, np.diff(seconds[order]), 0.0)
    return order, np.nan_to_num(steps, posinf=0.0, neginf=0.0)


def _runs(
    order: np.ndarray, twice: np.ndarray, place: np.ndarray, seconds: np.ndarray
) -> list[np.ndarray]:
    """The rows of the hours that come twice, in order, by device and day."""
    rows = order[twice[order]]
    if not len(rows):
        return []
    key = np.stack([place[rows], seconds[rows] // DAY])
    cuts = np.flatnonzero((key[:, 1:] != key[:, :-1]).any(axis=0)) + 1
    return np.split(rows, cuts)
