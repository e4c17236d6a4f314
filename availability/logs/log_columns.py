"""Columns of logs: their usual names, those given by the user, words for states, device names."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
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
# What words of states mean, given beside the columns.
WORDS = ("on", "off")
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
        given: See `given_columns`; the known names count for others.

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

    Args:
        given: Pairs such as `device=imei,time=ts,state=event`, and words as in `given_states`.

    Raises:
        ParameterError: If a pair has no `=`, or names an unknown part.
    """
    return {part: column for part, column in _pairs(given).items() if part in KNOWN}


def given_states(given: str) -> dict[str, bool]:
    """Returns what words mean as states: `STATES`, and those given, `on=plugged,off=idle/full`.

    Raises:
        ParameterError: See `given_columns`.
    """
    pairs = _pairs(given)
    words = {part: pairs.get(part, "").lower().split("/") for part in WORDS}
    own = {word.strip(): part == "on" for part, many in words.items() for word in many}
    return {**STATES, **{word: is_on for word, is_on in own.items() if word}}


def _pairs(given: str) -> dict[str, str]:
    found = {}
    for pair in filter(None, (each.strip() for each in given.split(","))):
        part, equals, value = (each.strip() for each in pair.partition("="))
        part = _SAME.get(part, part)
        if not equals or part not in (*KNOWN, *WORDS) or not value or part in found:
            parts = ", ".join([*KNOWN, *WORDS])
            allowed = f"must be such as device=imei,time=ts,state=event,on=charging, of {parts}"
            raise ParameterError("table_columns", given, allowed)
        found[part] = value
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


def states_of(column: Any, name: str, given: str = "") -> np.ndarray:
    """Returns states as booleans, `bool [n]`.

    Args:
        column: The Series of states.
        name: Name in messages.
        given: See `given_states`.

    Raises:
        DataError: If an entry is no state; names column and row.
    """
    codes, words = coded(column, f"{name}: column {column.name!r}")
    states = given_states(given)
    known = [states.get(str(word).strip().lower()) for word in words]
    meaning = np.array([word is True for word in known] + [False])
    wrong = np.array([word is None for word in known] + [True])[codes]
    if wrong.any():
        row = int(np.argmax(wrong))
        said = repr(str(column.iloc[row])[:80])
        words = [str(word).strip() for word in words]
        odd = [word for word, state in zip(words, known) if word and state is None]
        raise DataError(
            f"{name}: column {column.name!r}, {row_of(column, row)} is {said}: must be a state, "
            f"{_states_said(odd, words, given)}"
        )
    return np.asarray(meaning[codes])


def _states_said(odd: list[str], words: list[str], given: str) -> str:
    """The words that are known, and how to say what the others of a column mean."""
    on, off = (", ".join(w for w in STATES if STATES[w] == is_on) for is_on in (True, False))
    if not odd:
        return f"on: {on}; or off: {off}"
    # A device comes before it goes: of two words the first is likely to be the one for online.
    shown = dict(zip(WORDS, words if len(words) == 2 else odd))
    if len(odd) > 2:
        shown["off"] += f"/{odd[2]}"
    flag = flag_of(given, shown)
    return f"on: {on}; or off: {off}. It has {listed(odd)}: say what they mean, as by {flag}"


def flag_of(given: str, more: Mapping[str, Any]) -> str:
    """Returns the flag that gives further pairs, as one types it."""
    pairs = ",".join(f"{part}={value}" for part, value in {**more, **_pairs(given)}.items())
    return f"{shlex.quote(f'--columns={pairs}')} (of a run --table_columns)"


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
