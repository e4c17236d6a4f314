"""Logs of online clients in common forms: tables of rounds, events, spans, device traces.

- Masks: a row per round, a column per client, zeros and ones: `.npy`, `.npz`, `.csv` without a
  header (`mask_files`), a DataFrame, or `.csv` with the clients' names in the first line. Rows may
  begin with their round or time.
- Events: a row per change, with columns such as `device,time,online`. A device is offline before
  its first event, and stays in a state until its next event.
- Spans: a row per visit, with columns such as `device,start,end`. Spans may overlap; a span without
  an end lasts until the log's end.
- Device traces: `.json` and `.pkl` (`trace_files`).

Times are seconds, milliseconds since 1970, or dates such as 2024-06-01T18:00:00Z, on one clock. A
client is available in a round if it is online when the round starts.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from reprlib import repr
from typing import Any

import numpy as np

from f3ast_tff.availability.logs.device_traces import DAY, MAX_STATES, DeviceTraces
from f3ast_tff.availability.logs.log_times import (
    TIMES,
    clock_of,
    clock_of_index,
    row_of,
    say_far_times,
    seconds_of,
)
from f3ast_tff.availability.logs.mask_files import FORMS, PackedMasks, packed_masks, read_masks
from f3ast_tff.availability.logs.trace_files import ELIGIBLE, FEDSCALE_NAME, read_traces
from f3ast_tff.core.errors import DataError
from f3ast_tff.core.frame_columns import is_number
from f3ast_tff.files.data_files import open_regular
from f3ast_tff.files.table_files import read_csv

_LOGGER = logging.getLogger(__name__)

ROUND_SECONDS = 3600
_DEVICES = ("device", "device_id", "client", "client_id", "node", "node_id", "user", "user_id")
_STATES = ("online", "available", "state", "status", "connected")
_STARTS = ("start", "start_time", "begin", "from", "online_from", "connected_at", "login")
_ENDS = ("end", "end_time", "stop", "to", "until", "online_until", "disconnected_at", "logout")
_ROUNDS = ("round", "hour", *TIMES)
_YES = ("1", "1.0", "true", "t", "yes", "y", "on", "online", "up", "available", "connected")
_NO = ("0", "0.0", "false", "f", "no", "n", "off", "offline", "down", "unavailable")
_WORDS = {
    **dict.fromkeys((*_YES, "avl_train", "avl_eval"), True),
    **dict.fromkeys((*_NO, "disconnected", "un_avl"), False),
}
_LOG_FORMS = "device,time,online or device,start,end"
_HEADER_BYTES = 2**24


@dataclass(frozen=True)
class AvailabilityLog:
    """Online clients by round.

    Attributes:
        masks: Available clients by round.
        clients: Names of the N clients; empty if the log has no names.
        round_seconds: Length of a round; `None` if the log has no clock.
        start: Time of round 1, seconds since midnight; `None` without a clock.
        events: Number of entries read; 0 for masks.

    Examples:
        >>> import pandas as pd
        >>> from f3ast_tff.availability.logs.availability_log import log_of_frame
        >>> rounds = pd.DataFrame({"ann": [1, 0, 1], "bob": [1, 1, 0], "eve": [0, 0, 1]})
        >>> log = log_of_frame(rounds).of_clients(["eve", "ann"])  # Those who hold data.
        >>> log.clients, log.masks.row(1).tolist()
        (('eve', 'ann'), [False, True])
    """

    masks: PackedMasks
    clients: tuple[str, ...] = ()
    round_seconds: int | None = None
    start: float | None = None
    events: int = 0

    def of_clients(self, names: Sequence[str]) -> AvailabilityLog:
        """Returns the log of the clients that hold data, in the data's order.

        Clients are found by name. If log and data have no name in common, they are matched by
        position.

        Args:
            names: Name of each client that holds data.

        Raises:
            DataError: If the log has some of these clients and lacks others.
        """
        column = {name: k for k, name in enumerate(self.clients)}
        missing = [name for name in names if name not in column]
        if not column or len(missing) == len(names):
            if column:
                _LOGGER.warning("log and data have no client name in common: matched by place")
            return self
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise DataError(
                f"the log names {len(names) - len(missing)} of the {len(names)} clients that hold "
                f"data, and lacks {missing[0]!r}{more}: leave them out of the data"
            )
        if len(column) > len(names):
            _LOGGER.warning(
                "%d of the log's %d clients hold no data and are left out",
                len(column) - len(names),
                len(column),
            )
        places = np.array([column[name] for name in names])
        return replace(self, masks=self.masks.of_clients(places), clients=tuple(names))


def read_log(
    path: Path, round_seconds: int = ROUND_SECONDS, states: str = "", eligible: str = ELIGIBLE
) -> AvailabilityLog:
    """Reads a log of one of the forms above.

    Args:
        path: A `.npy`, `.npz`, `.csv`, `.json` or `.pkl` file.
        round_seconds: Length of a round; unused for masks, whose rows are the rounds.
        states: See `trace_files.read_traces`.
        eligible: See `trace_files.read_traces`.

    Raises:
        DataError: If it cannot be read; names the file, and the column or the row.
        ParameterError: See `trace_files.read_traces`.

    Examples:
        >>> import tempfile
        >>> from pathlib import Path
        >>> import pandas as pd
        >>> from f3ast_tff.availability.logs.availability_log import read_log
        >>> visits = {"device": ["ann", "bob"], "start": [0, 3600], "end": [7200, 10800]}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     pd.DataFrame(visits).to_csv(f"{folder}/visits.csv", index=False)
        ...     log = read_log(Path(folder, "visits.csv"), round_seconds=3600)
        >>> log.clients, [log.masks.row(t).tolist() for t in (1, 2, 3)]
        (('ann', 'bob'), [[True, False], [True, True], [False, True]])
    """
    form = path.suffix.lower()
    if form == ".csv" and path.is_file():
        first = _first_line(path)
        separator = max(",;\t", key=first.count)
        entries = [entry.strip() for entry in first.split(separator)]
        words = [entry for entry in entries if not is_number(entry)]
        if {entry.lower() for entry in entries} <= {"true", "false"}:
            # A table of booleans without names.
            frame = _read_csv(path, separator, header=None)
            return replace(log_of_frame(frame, round_seconds, str(path)), clients=())
        if twice := [word for word in words if word and words.count(word) > 1]:
            raise DataError(f"{path}: line 1 has {twice[0]!r} twice")
        # pandas writes these names for columns without names; a round has no 2.
        numbered = len(entries) > 2 and entries == [*map(str, range(len(entries)))]
        if numbered or len(words) == len(entries) or entries[0].lower() in (*_ROUNDS, ""):
            return log_of_frame(_read_csv(path, separator), round_seconds, str(path))
        if words:
            allowed = f"must be zeros and ones, or names of columns, such as {_LOG_FORMS}"
            raise DataError(f"{path}: line 1 has {repr(words[0])}: {allowed}")
    if form in (".json", ".pkl") or path.name == FEDSCALE_NAME:
        traces = read_traces(path, states, eligible)
        log = _resampled(_from_first_sight(traces), round_seconds, str(path))
        return replace(log, events=len(traces.times))
    if form not in FORMS:
        allowed = f"must end in {', '.join((*FORMS, '.json'))} or .pkl"
        raise DataError(f"{path}: {allowed}")
    return AvailabilityLog(read_masks(path))


def log_of_frame(
    frame: Any, round_seconds: int = ROUND_SECONDS, name: str = "the table"
) -> AvailabilityLog:
    """Returns the log in a pandas DataFrame of masks, events or spans.

    Args:
        frame: The table. Column names are matched without regard to case.
        round_seconds: Length of a round; unused for masks, whose rows are the rounds.
        name: Name in messages.

    Raises:
        DataError: If a column is missing or has a wrong value; names the column and the row.

    Examples:
        >>> import pandas as pd
        >>> from f3ast_tff.availability.logs.availability_log import log_of_frame
        >>> events = {"device": ["ann", "bob", "ann"], "time": [0, 3600, 7200], "online": [1, 1, 0]}
        >>> log = log_of_frame(pd.DataFrame(events), round_seconds=3600)
        >>> log.clients, [log.masks.row(t).tolist() for t in (1, 2)]
        (('ann', 'bob'), [[True, False], [True, True]])
    """
    names = {str(column).strip().lower(): column for column in frame.columns}
    if not len(frame):
        raise DataError(f"{name}: it has no rows")
    device, time, state, start, end = (
        next((names[each] for each in group if each in names), None)
        for group in (_DEVICES, TIMES, _STATES, _STARTS, _ENDS)
    )
    if device is None:
        return _of_masks(frame, name)
    of_spans = start is not None and end is not None
    if of_spans:
        times = np.concatenate(_span_ends(frame, start, end, name))
        steps = np.repeat([1, -1], len(frame))
        devices = np.tile(_names(frame[device], name), 2)
    elif time is not None and state is not None:
        times = seconds_of(frame[time], name)
        online = _online(frame[state], name)
        devices, steps = _names(frame[device], name), np.where(online, 1, 0)
    else:
        wanted = {"start": (start, _STARTS), "end": (end, _ENDS)}
        if start is None and end is None:
            wanted = {"time": (time, TIMES), "online": (state, _STATES)}
        lacks = {column: group for column, (found, group) in wanted.items() if found is None}
        there = ", ".join(map(str, frame.columns))
        known = ", ".join(each for group in lacks.values() for each in group)
        raise DataError(
            f"{name}: has no column {' or '.join(lacks)}, as in {_LOG_FORMS}; it has {there}. "
            f"Names that are known: {known}"
        )
    found, place = np.unique(devices, return_inverse=True)
    order = np.lexsort((times, place))
    place, times, steps = place[order], times[order], steps[order]
    if not of_spans:
        again = (np.diff(place) == 0) & (np.diff(times) == 0) & (np.diff(steps) != 0)
        if again.any():
            text = "%s: %d times a device has two states at one time; the later row counts"
            _LOGGER.warning(text, name, again.sum())
    # Steps of spans sum to 0 in each device; an event of 1 or 0 is the state itself.
    online = np.cumsum(steps) > 0 if of_spans else steps > 0
    offsets = np.searchsorted(place, np.arange(len(found) + 1))
    traces = DeviceTraces(
        tuple(map(str, found)), offsets=offsets, times=times, eligible=online
    ).once()
    return replace(_resampled(traces, round_seconds, name), events=len(frame))


def _span_ends(frame: Any, start: Any, end: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Times at which spans begin and end, seconds, `float64 [n]` each."""
    began = seconds_of(frame[start], name)
    ended = seconds_of(frame[end], name, gap=np.inf)
    early = np.flatnonzero(ended < began)
    if len(early):
        raise DataError(f"{name}: column {end!r}, {row_of(frame, early[0])}: is before its {start}")
    endless = np.isinf(ended)
    if endless.any():
        text = "%s: %d of %d spans have no end, and last until the log's end"
        _LOGGER.warning(text, name, endless.sum(), len(ended))
    last = np.where(endless, began, ended).max()
    if last == began.min():
        raise DataError(f"{name}: has no length: all spans begin when the log ends")
    return began, np.minimum(ended, last)


def _first_line(path: Path) -> str:
    with open_regular(path) as file:
        return file.readline(_HEADER_BYTES).decode("utf-8-sig", "replace").strip() or "0"


def _read_csv(path: Path, separator: str, **options: Any) -> Any:
    """The table as text, with rows numbered by lines of the file."""
    import pandas as pd

    try:
        frame = read_csv(
            path, sep=separator, dtype=str, keep_default_na=False, skip_blank_lines=False, **options
        )
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: {' '.join(str(error).split())}") from error
    first = 1 if "header" in options else 2
    frame.index = pd.RangeIndex(first, len(frame) + first, name="line")
    return frame[(frame != "").any(axis=1)]


def _of_masks(frame: Any, name: str) -> AvailabilityLog:
    columns = list(frame.columns)
    clients = [str(column).strip() for column in columns]
    twice = [name for name in clients if clients.count(name) > 1]
    if twice:
        raise DataError(f"{name}: two columns have the name {twice[0]!r}")
    clock = clock_of_index(frame, name)
    if str(columns[0]).strip().lower() in (*_ROUNDS, "", "unnamed: 0") and len(columns) > 1:
        clock = clock_of(frame[columns[0]], name)
        columns, clients = columns[1:], clients[1:]
    table = np.stack([_online(frame[column], name) for column in columns], axis=1)
    log = AvailabilityLog(packed_masks(table, name), tuple(clients))
    return log if clock is None else replace(log, round_seconds=clock[0], start=clock[1])


def _names(column: Any, name: str) -> np.ndarray:
    """Names of devices; numbers sort as numbers."""
    values = column.to_numpy()
    if values.dtype.kind == "O":
        texts = column.astype(str).str.strip()
        gaps = np.flatnonzero((texts == "") | column.isna())
        if len(gaps):
            raise DataError(
                f"{name}: column {column.name!r}, {row_of(column, gaps[0])}: has no device"
            )
        # 1 and 01 are two names, as in the data.
        if texts.str.fullmatch(r"0|[1-9]\d{0,17}").all():
            return np.asarray(texts.astype(np.int64))
        return np.array(texts.tolist(), str)
    if values.dtype.kind == "f":
        # pandas reads whole numbers so if an entry of the column is empty.
        named = [int(value) if value.is_integer() else value for value in values.tolist()]
        return _names(type(column)(named, column.index, dtype=object, name=column.name), name)
    return values


def _online(column: Any, name: str) -> np.ndarray:
    """States as booleans, `bool [n]`."""
    if column.dtype.kind == "b" and not column.isna().any():
        return np.asarray(column.to_numpy(bool))
    words = column.astype(str).str.strip().str.lower()
    known = words.map(_WORDS)
    wrong = np.flatnonzero(known.isna())
    if len(wrong):
        said = repr(str(column.iloc[wrong[0]]))
        allowed = "must be 0 or 1, true or false, online or offline"
        row = row_of(column, wrong[0])
        raise DataError(f"{name}: column {column.name!r}, {row} is {said}: {allowed}")
    return known.to_numpy(bool)


def _from_first_sight(traces: DeviceTraces) -> DeviceTraces:
    """Traces known from the log's start on: offline before a device was first seen."""
    return traces if traces.spans is not None else traces.once()


def _resampled(traces: DeviceTraces, round_seconds: int, name: str) -> AvailabilityLog:
    if traces.spans is None:
        finite = traces.times[np.isfinite(traces.times)]
        first, last = float(finite.min()), float(finite.max())
        say_far_times(finite, name)
    else:
        # Devices repeat after different lengths.
        first = float(np.median(traces.spans[:, 0]))
        last = first + float(np.median(np.diff(traces.spans)))
    first = np.floor(first / round_seconds) * round_seconds
    rounds = max(int(np.ceil((last - first) / round_seconds)), 1)
    if rounds * traces.num_devices > MAX_STATES:
        raise DataError(
            f"{name}: {rounds} rounds of {round_seconds} s and {traces.num_devices} devices: more "
            f"than {MAX_STATES} states; give longer rounds"
        )
    eligible = traces.eligible_at(first + round_seconds * np.arange(float(rounds)))
    return AvailabilityLog(
        packed_masks(eligible, name),
        clients=traces.names,
        round_seconds=round_seconds,
        start=first % DAY,
        events=len(traces.times),
    )
