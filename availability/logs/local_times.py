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
# Zones that a message may name.
_ZONES = (
    *("Europe/London", "Europe/Berlin", "Europe/Helsinki", "America/New_York", "America/Chicago"),
    *("America/Los_Angeles", "America/Santiago", "Australia/Sydney", "Australia/Lord_Howe"),
    *("Pacific/Auckland", "Asia/Jerusalem", "Africa/Cairo"),
)


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
    rows, before = _fallen(seconds, place)
    within = f"within the rows of a device ({len(rows)} rows do)"
    if not len(rows):
        # Also from device to device, if there is a zone whose clocks go back then.
        rows, before = _fallen(seconds, np.zeros_like(place))
        within = "and rows are in the order of time otherwise"
        if not len(rows) or len(rows) > 1 or not zones_of(seconds[rows]):
            return
    least = float((seconds[rows] - seconds[before]).min())
    raise DataError(
        f"{table.entry(column, int(rows.min()))}: falls back by {-least / 60:.3g} min {within}: "
        f"{ask_for_zone(seconds[rows])}"
    )


def ask_for_zone(seconds: np.ndarray) -> str:
    """Returns the question for the zone of local times that come again, with flags to type.

    Args:
        seconds: Local times that come again, `float64 [n]`.
    """
    zones = zones_of(seconds) or ["Europe/Berlin"]
    flags = " or ".join(f"--columns=zone={zone}" for zone in zones)
    said = "are these local times at the end of summer time? Say their zone, by"
    return f"{said} {flags}, or whichever it is (UTC for none)"


def zones_of(seconds: np.ndarray) -> list[str]:
    """Returns well-known zones in which these local times come twice."""
    return [zone for zone in _ZONES if _comes_twice(seconds, zone).all()]


def _fallen(seconds: np.ndarray, place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose times fall back as at the end of summer time, and the rows before them."""
    none = np.zeros(0, np.int64)
    order, steps = _steps(seconds, place)
    back = steps < 0
    if not back.any() or (steps < -_HOUR).any():
        return none, none
    falls = np.flatnonzero(steps < -_LEAST)
    rows = order[1:][falls]
    if not len(rows) or (seconds[rows] % DAY > _NIGHT).any():
        return none, none
    days, whole = np.unique(seconds[rows] // DAY), float(np.ptp(seconds))
    return (none, none) if len(days) > 1 + whole / _YEAR else (rows, order[:-1][falls])


def _comes_twice(seconds: np.ndarray, zone: str) -> np.ndarray:
    """Whether local times are of the hour that comes twice in a zone, `bool [n]`."""
    import pandas as pd

    local = pd.to_datetime(pd.Series(seconds), unit="s").dt
    return local.tz_localize(zone, ambiguous="NaT", nonexistent="shift_forward").isna().to_numpy()


def in_utc(
    seconds: np.ndarray,
    zone: str,
    place: np.ndarray,
    table: LogTable,
    column: str,
    *,
    once_each: bool = False,
) -> tuple[np.ndarray, int]:
    """Returns times in UTC, and the number of rows of which the order of rows does not tell.

    Of the hour that comes twice, a device's rows are the first until one falls back; all rows are
    if they are in the order of time but for that.

    Args:
        seconds: Local time of each row, `float64 [n]`; infinity for an open end.
        zone: Name of the zone, such as `Europe/Berlin`.
        place: Device of each row, `int64 [n]`.
        table: The table.
        column: Column of the times.
        once_each: Whether each time comes once, as in masks: equal ones are of both passes.

    Raises:
        ParameterError: If the zone is unknown.
        DataError: If a time is within the hour that is left out at the start of summer time, or
            times fall back where the zone's do not.
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
    everywhere = np.zeros_like(place)
    as_one = _falls_alone(seconds, twice)
    order, _ = _steps(seconds, everywhere if as_one else place)
    open_rows = 0
    for rows in _runs(order, twice, everywhere if as_one else place, seconds):
        steps = np.diff(seconds[rows])
        falls = np.append(False, steps <= 0 if once_each else steps < 0)
        first[rows] = ~np.maximum.accumulate(falls)
        open_rows += 0 if falls.any() else len(rows)
    moved = local.tz_localize(zone, ambiguous=first, nonexistent="NaT")
    if (none := moved.isna().to_numpy()).any():
        row = int(np.argmax(none))
        raise DataError(f"{table.entry(column, row)}: there is no such time in {zone}")
    zero = pd.Timestamp("1970-01-01", tz="UTC")
    found = ((moved - zero) / pd.Timedelta(seconds=1)).to_numpy(float)
    rows, before = _fallen(seconds, place)
    if zone != "UTC" and (wrong := rows[found[rows] < found[before]]).size:
        allowed = f"falls back, and in {zone} no hour comes twice then: is it another zone?"
        raise DataError(f"{table.entry(column, int(wrong.min()))}: {allowed}")
    return np.where(known, found, seconds), open_rows


def _falls_alone(seconds: np.ndarray, twice: np.ndarray) -> bool:
    """Whether all rows are in the order of time, except for one step back in each doubled hour."""
    order, steps = _steps(seconds, np.zeros(len(seconds), np.int64))
    falls = np.flatnonzero(steps < 0)
    inside = twice[order[falls]] & twice[order[falls + 1]]
    days = seconds[order[falls]] // DAY
    return len(falls) > 0 and bool(inside.all()) and len(np.unique(days)) == len(falls)


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
