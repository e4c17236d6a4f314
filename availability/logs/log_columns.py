"""Columns of logs: their usual names, names given by the user, states in words, device names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from f3ast_tff.availability.logs.log_times import row_of
from f3ast_tff.core.client_names import client_names, listed, numbers_if_all
from f3ast_tff.core.errors import DataError, ParameterError

# Names that are known for each part of a log, in the order of preference.
KNOWN = {
    "device": ("device", "device_id", "client", "client_id", "node", "node_id", "user", "user_id"),
    "time": ("time", "timestamp", "date", "datetime", "t"),
    "state": ("online", "available", "state", "status", "connected"),
    "start": ("start", "start_time", "begin", "from", "online_from", "connected_at", "login"),
    "end": ("end", "end_time", "stop", "to", "until", "online_until", "disconnected_at", "logout"),
}
_SAME = {"client": "device", "online": "state"}
LOG_FORMS = "device,time,online or device,start,end"
_YES = ("1", "1.0", "true", "t", "yes", "y", "on", "online", "up", "available", "connected")
_NO = ("0", "0.0", "false", "f", "no", "n", "off", "offline", "down", "unavailable")
STATES = {
    **dict.fromkeys((*_YES, "connect", "join", "active", "avl_train", "avl_eval"), True),
    **dict.fromkeys((*_NO, "disconnected", "disconnect", "leave", "inactive", "un_avl"), False),
}


@dataclass(frozen=True)
class LogColumns:
    """The columns of a log of events or spans; `None` where there is none."""

    device: Any = None
    time: Any = None
    state: Any = None
    start: Any = None
    end: Any = None


def columns_of(frame: Any, given: str) -> LogColumns:
    """Finds the columns of a frame, without regard to case.

    Args:
        frame: The table.
        given: Pairs such as `device=imei,time=ts,state=event`; the known names count for others.

    Raises:
        ParameterError: If the pairs are no pairs, or name no column.
    """
    names = {str(column).strip().lower(): column for column in frame.columns}
    found = {
        part: next((names[each] for each in known if each in names), None)
        for part, known in KNOWN.items()
    }
    for part, column in given_columns(given).items():
        if column.lower() not in names:
            allowed = f"must name columns of the log: {listed(frame.columns)}"
            raise ParameterError("table_columns", given, allowed)
        found[part] = names[column.lower()]
    return LogColumns(**found)


def given_columns(given: str) -> dict[str, str]:
    """Returns the column that the user gives for each part.

    Raises:
        ParameterError: If a pair has no `=`, or names an unknown part.
    """
    found = {}
    for pair in filter(None, (each.strip() for each in given.split(","))):
        part, equals, column = (each.strip() for each in pair.partition("="))
        part = _SAME.get(part, part)
        if not equals or part not in KNOWN or not column or part in found:
            allowed = f"must be such as device=imei,time=ts,state=event, of {', '.join(KNOWN)}"
            raise ParameterError("table_columns", given, allowed)
        found[part] = column
    return found


def coded(values: Any, what: str) -> tuple[np.ndarray, list[Any]]:
    """Returns each value's place among the distinct values, -1 for a gap, and these values.

    Raises:
        DataError: If a value is a list or an object.
    """
    import pandas as pd

    try:
        codes, distinct = pd.factorize(values)
    except TypeError as error:
        raise DataError(f"{what}: holds lists or objects") from error
    return codes, list(distinct.tolist())


def states_of(column: Any, name: str) -> np.ndarray:
    """Returns states as booleans, `bool [n]`.

    Raises:
        DataError: If an entry is no state; names column and row.
    """
    codes, words = coded(column, f"{name}: column {column.name!r}")
    known = [STATES.get(str(word).strip().lower()) for word in words]
    meaning = np.array([word is True for word in known] + [False])
    wrong = np.array([word is None for word in known] + [True])[codes]
    if wrong.any():
        row = int(np.argmax(wrong))
        said = repr(str(column.iloc[row])[:80])
        allowed = "must be 0 or 1, true or false, online or offline"
        raise DataError(
            f"{name}: column {column.name!r}, {row_of(column, row)} is {said}: {allowed}"
        )
    return np.asarray(meaning[codes])


def devices_of(column: Any, name: str) -> tuple[tuple[str, ...], np.ndarray]:
    """Returns the names of the D devices, numbers sorted as numbers, and each row's device.

    Raises:
        DataError: If a row has no device; names it.
    """
    codes, values = coded(column, f"{name}: column {column.name!r}")
    try:
        names = client_names(values)
    except DataError as error:
        raise DataError(f"{name}: column {column.name!r}: {error}") from error
    empty = np.array([not each for each in names] + [True])[codes]
    if empty.any():
        row = row_of(column, int(np.argmax(empty)))
        raise DataError(f"{name}: column {column.name!r}, {row}: has no device")
    found, place = np.unique(numbers_if_all(names), return_inverse=True)
    return tuple(map(str, found.tolist())), place[codes]
