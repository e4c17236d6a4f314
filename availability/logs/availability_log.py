"""Logs of online clients in common forms: tables of rounds, events, spans, device traces.

- Masks: a row per round, a column per client, zeros and ones: `.npy`, `.npz`, `.csv` without a
  header (`mask_files`), a DataFrame, or a table with the clients' names in the first line. Rows may
  begin with their round or time.
- Events: a row per change, with columns such as `device,time,online`. A device is offline before
  its first event, and stays in a state until its next event.
- Spans: a row per visit, with columns such as `device,start,end`. Spans may overlap; a span without
  an end lasts until the log's end.
- Device traces: `.json` and `.pkl` (`trace_files`).

Tables are CSV files, JSON lines, parquet files and DataFrames. Times are read by `log_times`. A
client is available in a round if it is online when the round starts.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from reprlib import repr
from typing import Any

import numpy as np

from f3ast_tff.availability.logs.device_traces import DAY, MAX_STATES, DeviceTraces
from f3ast_tff.availability.logs.likely_columns import is_likely_log, refuse_columns
from f3ast_tff.availability.logs.log_columns import LOG_FORMS, columns_of, given_columns
from f3ast_tff.availability.logs.log_entries import (
    Entries,
    entries_of_events,
    entries_of_spans,
    say_far_times,
)
from f3ast_tff.availability.logs.log_masks import CLOCKS, masks_of_frame
from f3ast_tff.availability.logs.log_tables import (
    CSV_FORMS,
    TABLE_FORMS,
    first_entries,
    holds_lines,
    read_csv_log,
    read_table,
)
from f3ast_tff.availability.logs.log_times import span_text
from f3ast_tff.availability.logs.mask_files import FORMS, PackedMasks, packed_masks, read_masks
from f3ast_tff.availability.logs.split_times import with_joined_times
from f3ast_tff.availability.logs.time_units import duration_text
from f3ast_tff.availability.logs.trace_files import ELIGIBLE, FEDSCALE_NAME, read_traces
from f3ast_tff.core.client_names import client_names
from f3ast_tff.core.errors import DataError, ParameterError
from f3ast_tff.core.frame_columns import is_number
from f3ast_tff.files.data_files import first_twice

_LOGGER = logging.getLogger(__name__)

ROUND_SECONDS = 3600
# Words of the first row of a table of states without names.
_UNNAMED_STATES = ({"true", "false"}, {"t", "f"}, {"on", "off"}, {"yes", "no"})
_NUMBER = re.compile(r"[0-9]+(?:\.0+)?")
# More rounds than this must have entries: ten rounds per entry.
_MANY_ROUNDS, _ROUNDS_PER_ENTRY = 100_000, 10


@dataclass(frozen=True)
class AvailabilityLog:
    """Online clients by round.

    Attributes:
        masks: Available clients by round.
        clients: Names of the N clients; empty if the log has no names.
        round_seconds: Length of a round; `None` if the log has no clock.
        start: Time of round 1, seconds since midnight; `None` without a clock.
        events: Number of entries read; 0 for masks.
        read_as: How the log was read, in words.

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
    read_as: str = ""

    def of_clients(self, names: Sequence[str]) -> AvailabilityLog:
        """Returns the log of the clients that hold data, in the data's order.

        Clients are found by name. Clients of a log without names are found by their numbers from
        0; only if the data has no names either, clients are matched by position.

        Args:
            names: Name of each client that holds data.

        Raises:
            DataError: If the log lacks some of these clients.
        """
        names = client_names(names)
        if not names:
            return self
        known = self.clients or tuple(map(str, range(self.masks.shape[1])))
        column = {name: k for k, name in enumerate(known)}
        missing = [name for name in names if name not in column]
        if len(missing) == len(names):
            raise DataError(
                f"the log has {len(known)} clients, the data {len(names)}, and they share no name: "
                f"the log has {'' if self.clients else 'no names, so '}{known[0]!r}, the data "
                f"{names[0]!r}"
            )
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
    path: Path,
    round_seconds: int = ROUND_SECONDS,
    states: str = "",
    eligible: str = ELIGIBLE,
    *,
    columns: str = "",
    time_unit: str = "",
    max_visit: float | None = None,
) -> AvailabilityLog:
    """Reads a log of one of the forms above.

    Args:
        path: A `.npy`, `.npz`, `.csv`, `.tsv`, `.json`, `.jsonl`, `.ndjson`, `.parquet`, `.pq` or
            `.pkl` file.
        round_seconds: Length of a round; unused for masks, whose rows are the rounds.
        states: See `trace_files.read_traces`.
        eligible: See `trace_files.read_traces`.
        columns: See `log_of_frame`.
        time_unit: See `log_of_frame`.
        max_visit: See `log_of_frame`.

    Raises:
        DataError: If it cannot be read; names the file, and the column or the row.
        ParameterError: See `trace_files.read_traces`, `log_columns.columns_of`.

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

    def of_frame(frame: Any) -> AvailabilityLog:
        return log_of_frame(
            frame,
            round_seconds,
            str(path),
            columns=columns,
            time_unit=time_unit,
            max_visit=max_visit,
        )

    if not path.is_file() and (form in (*CSV_FORMS, *TABLE_FORMS)):
        raise DataError(f"{path}: there is no such file")
    if form in CSV_FORMS:
        entries, separator = first_entries(path)
        if {entry.lower() for entry in entries} in _UNNAMED_STATES:
            log = of_frame(read_csv_log(path, separator, header=False))
            return replace(log, clients=())
        if columns or _is_header(entries, path):
            return of_frame(read_csv_log(path, separator))
    elif form in TABLE_FORMS or (form == ".json" and path.is_file() and holds_lines(path)):
        return of_frame(read_table(path))
    elif form in (".json", ".pkl") or path.name == FEDSCALE_NAME:
        return _of_traces(read_traces(path, states, eligible), round_seconds, str(path))
    elif form not in FORMS:
        forms = (*FORMS, ".tsv", ".json", *TABLE_FORMS)
        packed = "unpack it first: " if form in (".gz", ".bz2", ".xz", ".zip") else ""
        raise DataError(f"{path}: {packed}must end in {', '.join(forms)} or .pkl")
    masks = read_masks(path)
    return AvailabilityLog(masks, read_as=_of_masks_text(masks, "no times"))


def _is_header(entries: list[str], path: Path) -> bool:
    """Whether a CSV file's first line names columns; refuses one that is no mask either."""
    words = [entry for entry in entries if not is_number(entry)]
    if (twice := first_twice(filter(None, words))) is not None:
        raise DataError(f"{path}: line 1 has {twice[:80]!r} twice")
    if len(words) == len(entries) or entries[0].lower() in CLOCKS:
        return True
    # Numbers name clients if they rise: a row of zeros and ones does not, beyond 0,1.
    numbers = entries[1:] if words == entries[:1] else entries
    if all(_NUMBER.fullmatch(entry) for entry in numbers) and {*numbers} - {"0", "1", "0.0", "1.0"}:
        values = np.array(numbers, float)
        if (np.diff(values) > 0).all():
            return True
    if words:
        allowed = f"must be zeros and ones, or names of columns, such as {LOG_FORMS}"
        raise DataError(f"{path}: line 1 has {repr(words[0])}: {allowed}")
    return False


def log_of_frame(
    frame: Any,
    round_seconds: int = ROUND_SECONDS,
    name: str = "the table",
    *,
    columns: str = "",
    time_unit: str = "",
    max_visit: float | None = None,
) -> AvailabilityLog:
    """Returns the log in a pandas DataFrame of masks, events or spans.

    Args:
        frame: The table. Column names are matched without regard to case; times, devices and
            clients' times may be its index.
        round_seconds: Length of a round; unused for masks, whose rows are the rounds.
        name: Name in messages.
        columns: Columns with other than the usual names, `device=imei,time=ts,state=event`; of
            spans `start` and `end`, of masks `time` alone. Also words for states,
            `on=plugged,off=idle/full`.
        time_unit: Unit of times as numbers, one of `time_units.UNITS`; empty to decide by them.
        max_visit: Longest time online without a further event, and longest span, seconds; `None`
            for no limit.

    Raises:
        DataError: If a column is missing or has a wrong value; names the column and the row.
        ParameterError: If `columns` names no columns, or `max_visit` is given for masks.

    Examples:
        >>> import pandas as pd
        >>> from f3ast_tff.availability.logs.availability_log import log_of_frame
        >>> events = {"device": ["ann", "bob", "ann"], "time": [0, 3600, 7200], "online": [1, 1, 0]}
        >>> log = log_of_frame(pd.DataFrame(events), round_seconds=3600)
        >>> log.clients, [log.masks.row(t).tolist() for t in (1, 2)]
        (('ann', 'bob'), [[True, False], [True, True]])
    """
    if not len(frame):
        raise DataError(f"{name}: it has no rows")
    frame = _with_index(frame, columns)
    if not given_columns(columns):
        frame = with_joined_times(frame)
    found = columns_of(frame, of_log := _of_log(columns))
    if found.device is None and not of_log:
        if max_visit is not None:
            allowed = "only applies to events and spans: the log has no column of devices"
            raise ParameterError("table_max_visit", max_visit, allowed)
        try:
            masks, clients, clock = masks_of_frame(frame, name, columns, time_unit)
        except DataError:
            if is_likely_log(frame):
                refuse_columns(frame, found, name, columns)
            raise
        log = AvailabilityLog(masks, clients)
        if clock is None:
            return replace(log, read_as=_of_masks_text(masks, "no times"))
        last = clock.first + masks.shape[0] * clock.round_seconds
        said = f"{clock.times.form}, {span_text(clock.times, clock.first, last - 1)}"
        said += f", rounds of {duration_text(clock.round_seconds)}"
        return replace(
            log,
            round_seconds=clock.round_seconds,
            start=clock.first % DAY,
            read_as=_of_masks_text(masks, said),
        )
    found = columns_of(frame, columns)
    of_spans = found.start is not None and found.end is not None
    if found.device is None or not of_spans and (found.time is None or found.state is None):
        refuse_columns(frame, found, name, columns)
    if of_spans:
        entries, kind = entries_of_spans(frame, found, name, time_unit, max_visit), "spans"
    else:
        entries = entries_of_events(frame, found, name, time_unit, max_visit, columns)
        kind = "events"
    return replace(_resampled(entries, round_seconds, name, kind), events=len(frame))


def _of_log(columns: str) -> str:
    """The columns given for a log; `""` if they may be those of masks, which have times alone."""
    return columns if given_columns(columns).keys() - {"time"} else ""


def _of_masks_text(masks: PackedMasks, times: str) -> str:
    return f"masks, {masks.shape[1]} clients, {times}"


def _with_index(frame: Any, columns: str) -> Any:
    """The frame with its index as columns, if devices or times of events are there."""
    import pandas as pd

    index = frame.index
    # Evenly spaced times can be a RangeIndex, too.
    counts = isinstance(index, pd.RangeIndex) and index.start in (0, 1) and index.step == 1
    if counts or index.name == "line":
        return frame
    if isinstance(index, pd.DatetimeIndex) and index.name is None:
        index = index.rename("time")
    added = [each for each in index.names if each is not None and each not in frame.columns]
    if not added:
        return frame
    moved = frame.set_axis(index).reset_index(added)
    return moved if columns_of(moved, _of_log(columns)).device is not None else frame


def _of_traces(traces: DeviceTraces, round_seconds: int, name: str) -> AvailabilityLog:
    if traces.spans is None:
        # Known from the log's start on: offline before a device was first seen.
        traces = traces.once()
        place = np.repeat(np.arange(traces.num_devices), np.diff(traces.offsets))
        entries = Entries(traces.names, place, traces.times, traces.eligible)
        finite = traces.times[np.isfinite(traces.times)]
        if not len(finite):
            raise DataError(f"{name}: no entry has a time: must have a finite one")
        say_far_times(finite, name)
        log = _resampled(entries, round_seconds, name, "traces")
        return replace(log, events=len(traces.times) - traces.num_devices)
    # Devices repeat after different lengths.
    first = float(np.median(traces.spans[:, 0]))
    last = first + float(np.median(np.diff(traces.spans)))
    starts = _starts(first, last, round_seconds, traces.num_devices, len(traces.times), name)
    masks = packed_masks(traces.eligible_at(starts), name)
    said = f"traces, {traces.num_devices} devices, seconds, {duration_text(last - first)}, rounds "
    return AvailabilityLog(
        masks,
        clients=traces.names,
        round_seconds=round_seconds,
        start=float(starts[0]) % DAY,
        events=len(traces.times),
        read_as=f"{said}of {duration_text(round_seconds)}",
    )


def _resampled(entries: Entries, round_seconds: int, name: str, kind: str) -> AvailabilityLog:
    finite = entries.times[np.isfinite(entries.times)]
    first, last = float(finite.min()), float(finite.max())
    starts = _starts(first, last, round_seconds, len(entries.names), len(finite), name)
    read = entries.read
    form = "seconds" if read is None else read.form
    span = duration_text(last - first) if read is None else span_text(read, first, last)
    said = f"{kind}, {len(entries.names)} devices, {form}, {span}, rounds of "
    return AvailabilityLog(
        entries.in_rounds(starts),
        clients=entries.names,
        round_seconds=round_seconds,
        start=float(starts[0]) % DAY,
        read_as=said + duration_text(round_seconds),
    )


def _starts(
    first: float, last: float, round_seconds: int, devices: int, entries: int, name: str
) -> np.ndarray:
    """Times at which the rounds of a log start, `float64 [T]`."""
    if last - first < round_seconds:
        _LOGGER.warning(
            "%s: all times lie within %s, less than a round of %s: give shorter rounds, or are the "
            "times in another unit than seconds?",
            name,
            duration_text(last - first),
            duration_text(round_seconds),
        )
    first = np.floor(first / round_seconds) * round_seconds
    rounds = max(int(np.ceil((last - first) / round_seconds)), 1)
    many = f"{name}: {rounds} rounds of {round_seconds} s"
    if rounds > max(_MANY_ROUNDS, _ROUNDS_PER_ENTRY * entries):
        raise DataError(
            f"{many}, and only {entries} times: has a time another clock? Else give longer rounds, "
            "or the times' unit by --time_unit (of a run --table_time_unit)"
        )
    if rounds * devices > MAX_STATES:
        allowed = f"more than {MAX_STATES} states; give longer rounds"
        raise DataError(f"{many} and {devices} devices: {allowed}")
    return np.asarray(first + round_seconds * np.arange(float(rounds)))
