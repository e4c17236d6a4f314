"""Logs of online clients in common forms: tables of rounds, events, spans, device traces.

- Masks: a row per round, a column per client, zeros and ones: `.npy`, `.npz`, `.csv` without a
  header (`mask_files`), a DataFrame, or a table with the clients' names in the first line. Rows may
  begin with their round or time.
- Events: a row per change, with columns such as `device,time,online`. A device is offline before
  its first event, and stays in a state until its next event.
- Spans: a row per visit, with columns such as `device,start,end`, or `duration`. Spans may overlap;
  a span without an end lasts until the log's end. With a column of states, those that are online.
- Heartbeats: a row per sighting of a device, if its time is given as `seen`.
- Device traces: `.json` and `.pkl` (`trace_files`).

Tables are CSV files, JSON (`json_tables`), parquet files and DataFrames. Times are read by
`log_times`. A client is available in a round if it is online when the round starts. Columns that
are not used and may decide are never passed over (`log_decision`).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from f3ast_tff.availability.logs.device_traces import DAY, DeviceTraces
from f3ast_tff.availability.logs.failure_traces import with_nodes
from f3ast_tff.availability.logs.json_tables import LINES_FORMS
from f3ast_tff.availability.logs.kinds_of_rows import with_ready, with_trackers
from f3ast_tff.availability.logs.likely_columns import is_likely_log, refuse_columns
from f3ast_tff.availability.logs.log_columns import Given, Reading, reading_of, with_form
from f3ast_tff.availability.logs.log_decision import decided
from f3ast_tff.availability.logs.log_entries import Entries, entries_of, far_times, odd_lengths
from f3ast_tff.availability.logs.log_files import PARQUET_FORMS, table_of
from f3ast_tff.availability.logs.log_masks import (
    in_longer_rounds,
    masks_of_frame,
    numbers_rows,
    refuse_words_of_masks,
    yes_is_offline,
)
from f3ast_tff.availability.logs.log_reading import Options
from f3ast_tff.availability.logs.log_rounds import round_starts, short_log, starts_of
from f3ast_tff.availability.logs.log_table import LogTable
from f3ast_tff.availability.logs.log_times import span_text
from f3ast_tff.availability.logs.mask_files import FORMS, PackedMasks, packed_masks, read_masks
from f3ast_tff.availability.logs.split_times import with_joined_times
from f3ast_tff.availability.logs.time_units import WORDS, duration_text
from f3ast_tff.availability.logs.trace_files import ELIGIBLE, FEDSCALE_NAME, read_traces
from f3ast_tff.core.client_names import client_names, listed
from f3ast_tff.core.errors import DataError, ParameterError
from f3ast_tff.core.frame_columns import pandas_of
from f3ast_tff.files.csv_text import CSV_FORMS
from f3ast_tff.files.data_files import first_twice
from f3ast_tff.files.packed_files import PACKED

_LOGGER = logging.getLogger(__name__)

ROUND_SECONDS = 3600


@dataclass(frozen=True)
class AvailabilityLog:
    """Online clients by round.

    Attributes:
        masks: Available clients by round.
        clients: Names of the N clients; empty if the log has no names.
        round_seconds: Length of a round; `None` if the log has no clock.
        start: Time of round 1, seconds since midnight; `None` without a clock.
        events: Number of entries read; 0 for masks.
        read_as: How the log was read, in words: columns in use, and those that are not.
        first_round: Round in which each client is first seen, from 1, `int64 [N]`; `None` for logs
            that do not tell.

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
    first_round: np.ndarray | None = None

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
        first = None if self.first_round is None else self.first_round[places]
        masks = self.masks.of_clients(places)
        return replace(self, masks=masks, clients=tuple(names), first_round=first)


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
        path: A `.npy`, `.npz`, `.csv`, `.tsv`, `.tab`, `.json`, `.jsonl`, `.ndjson`, `.parquet`,
            `.pq` or `.pkl` file; tables of text also packed (`packed_files`).
        round_seconds: Length of a round; unused for masks, whose rows are the rounds.
        states: See `trace_files.read_traces`.
        eligible: See `trace_files.read_traces`.
        columns: See `log_of_frame`.
        time_unit: See `log_of_frame`.
        max_visit: See `log_of_frame`.

    Raises:
        DataError: If it cannot be read; names the file, and the column or the row.
        ParameterError: See `trace_files.read_traces`, `log_columns.Given`.

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
    given, options = Given.of(columns), Options(time_unit, max_visit, round_seconds)
    table = table_of(path, given)
    if isinstance(table, LogTable):
        log = _log_of(table, given, options)
        return log if table.named else replace(log, clients=())
    form = path.suffix.lower()
    if form in (".json", ".pkl") or path.name == FEDSCALE_NAME:
        return _of_traces(read_traces(path, states, eligible), round_seconds, str(path))
    if form not in FORMS:
        forms = ", ".join((*FORMS, *CSV_FORMS[1:], ".json", *LINES_FORMS, *PARQUET_FORMS))
        unpack = "unpack it first: " if form in PACKED else ""
        raise DataError(f"{path}: {unpack}must end in {forms} or .pkl")
    masks = read_masks(path)
    return AvailabilityLog(masks, read_as=_of_masks_text(masks, "no times"))


def log_of_frame(
    frame: Any,
    round_seconds: int = ROUND_SECONDS,
    name: str = "the table",
    *,
    columns: str = "",
    time_unit: str = "",
    max_visit: float | None = None,
) -> AvailabilityLog:
    """Returns the log in a DataFrame of masks, events or spans.

    Args:
        frame: A pandas DataFrame, or a table with `to_pandas`, as of polars and Arrow. Names of
            columns are matched without regard to case; times, devices and clients' times may be
            its index.
        round_seconds: Length of a round; unused for masks, whose rows are the rounds.
        name: Name in messages.
        columns: Columns with other than the usual names, `device=imei,time=ts,state=event`; of
            spans `start`, and `end` or `duration`, of events `session`, of heartbeats `seen`, of
            masks `time` alone.
            Also words for states, `on=plugged,off=idle/full` (`off=null` for gaps), columns that
            decide nothing, `ignore=note/flag`, and the zone of dates without one,
            `zone=Europe/Berlin`; of masks with times the longer rounds into which they are put,
            `round_seconds=3600`; of outages, between which devices are online, `rows=offline`.
        time_unit: Unit of times as numbers, one of `time_units.UNITS`; empty to decide by them.
        max_visit: Longest time online without a further event, and longest span, seconds; `None`
            for no limit.

    Raises:
        DataError: If a column is missing or has a wrong value, or a column that is not used may
            decide; names the column and the row, or what to give.
        ParameterError: If `columns` names no columns, or `max_visit` is given for masks.

    Examples:
        >>> import pandas as pd
        >>> from f3ast_tff.availability.logs.availability_log import log_of_frame
        >>> events = {"device": ["ann", "bob", "ann"], "time": [0, 3600, 7200], "online": [1, 1, 0]}
        >>> log = log_of_frame(pd.DataFrame(events), round_seconds=3600)
        >>> log.clients, [log.masks.row(t).tolist() for t in (1, 2)]
        (('ann', 'bob'), [[True, False], [True, True]])
    """
    try:
        table = LogTable(pandas_of(frame), name)
    except ValueError as error:
        raise DataError(f"{name}: {error}") from error
    return _log_of(table, Given.of(columns), Options(time_unit, max_visit, round_seconds))


def _log_of(table: LogTable, given: Given, options: Options) -> AvailabilityLog:
    if not len(table):
        raise DataError(f"{table.name}: it has no rows")
    if (twice := first_twice(table.frame.columns)) is not None:
        raise DataError(f"{table.name}: two columns have the name {str(twice)[:80]!r}")
    frame = _with_index(table.frame, given)
    frame = with_joined_times(frame, given.columns.values())
    table = with_form(with_ready(replace(table, frame=frame, _coded={}), given))
    table = with_trackers(with_nodes(table, given))
    found = reading_of(table, given)
    if found.device is None and not given.names_log:
        return _log_of_masks(table, found, given, options)
    reading = decided(table, found, given, options)
    visits = reading.visits
    entries = entries_of(visits)
    for note in (*visits.notes, *odd_lengths(entries)):
        _LOGGER.warning("%s: %s", table.name, note)
    if len({*map(str.casefold, visits.names)}) < len(visits.names):
        _LOGGER.warning("%s: names of devices differ in upper and lower case alone", table.name)
    assert visits.read is not None
    kind = "spans" if reading.reading.of_spans else "events"
    form = f"{kind}, {len(visits.names)} devices, {visits.read.form}"
    said = span_text(visits.read, visits.first, visits.last)
    how = f"; {visits.said}" if visits.said else ""
    of = f"{table.form}: " if table.form else ""
    # By seconds that count from the log's start, which minutes and hours look like.
    of_start = visits.read.form == WORDS["start"] and not options.time_unit
    lengths = entries.visits() if of_start else None
    for note in short_log(entries.first, entries.last, options.round_seconds, lengths):
        _LOGGER.warning("%s: %s", table.name, note)
    log = _in_rounds(entries, options.round_seconds, table.name, visits.seen)
    said = f"{of}{form}, {said}, rounds of {duration_text(options.round_seconds)}"
    said += f"{how}; {reading.reading.said(table)}"
    return replace(log, events=len(table), read_as=said)


def _log_of_masks(
    table: LogTable, found: Reading, given: Given, options: Options
) -> AvailabilityLog:
    if options.max_visit is not None:
        allowed = "only applies to events and spans: the log has no column of devices"
        raise ParameterError("table_max_visit", options.max_visit, allowed)
    try:
        masks, clients, clock = masks_of_frame(table, given, options.time_unit)
    except DataError:
        refuse_words_of_masks(table, given, options.time_unit)
        of_log = found.time is not None and found.state is not None
        if of_log or (found.start is not None and found.end is not None) or is_likely_log(table):
            refuse_columns(table, found, given, options)
        raise
    names = clients if table.named else ()
    turned = "yes is offline, " if yes_is_offline(clients, given) else ""
    if clock is None:
        said = _of_masks_text(masks, f"{turned}no times", names)
        return AvailabilityLog(masks, clients, read_as=said)
    last = clock.first + masks.shape[0] * clock.round_seconds
    said = f"{turned}{clock.times.form}, {span_text(clock.times, clock.first, last - 1)}"
    before = masks, clock.round_seconds
    if given.round_seconds is not None:
        masks, clock = in_longer_rounds(masks, clock, given.round_seconds)
    said += f", rounds of {duration_text(clock.round_seconds)}"
    if clock.round_seconds != before[1]:
        online = [f"{each.mean().mean():.1%}" for each in (before[0], masks)]
        said += f", of each its first row of {duration_text(before[1])} "
        said += f"({online[0]} of the rows online, {online[1]} of the rounds)"
    return replace(
        AvailabilityLog(masks, clients),
        round_seconds=clock.round_seconds,
        start=clock.first % DAY,
        read_as=_of_masks_text(masks, said, names),
    )


def _of_masks_text(masks: PackedMasks, times: str, clients: Sequence[str] = ()) -> str:
    names = f" ({listed(clients)})" if clients else ""
    return f"masks, {masks.shape[1]} clients{names}, {times}"


def _with_index(frame: Any, given: Given) -> Any:
    """The frame with its index as columns, if devices or times of events are there."""
    import pandas as pd

    index = frame.index
    if numbers_rows(index):
        return frame
    if isinstance(index, pd.DatetimeIndex) and index.name is None:
        index = index.rename("time")
    added = [each for each in index.names if each is not None and each not in frame.columns]
    if not added:
        return frame
    moved = frame.set_axis(index).reset_index(added)
    plain = given if given.names_log else Given.of("")
    return moved if reading_of(LogTable(moved, ""), plain).device is not None else frame


def _of_traces(traces: DeviceTraces, round_seconds: int, name: str) -> AvailabilityLog:
    if traces.spans is None:
        # Known from the log's start on: offline before a device was first seen.
        traces = traces.once()
        place = np.repeat(np.arange(traces.num_devices), np.diff(traces.offsets))
        finite = traces.times[np.isfinite(traces.times)]
        if not len(finite):
            raise DataError(f"{name}: no entry has a time: must have a finite one")
        for note in far_times(finite):
            _LOGGER.warning("%s: %s", name, note)
        first, last = float(finite.min()), float(finite.max())
        entries = Entries(traces.names, place, traces.times, traces.eligible, first, last)
        for note in short_log(first, last, round_seconds):
            _LOGGER.warning("%s: %s", name, note)
        log = _in_rounds(entries, round_seconds, name)
        said = f"traces, {len(traces.names)} devices, seconds, {duration_text(last - first)}, "
        said += f"rounds of {duration_text(round_seconds)}"
        return replace(log, events=len(traces.times) - traces.num_devices, read_as=said)
    # Devices repeat after different lengths.
    first = float(np.median(traces.spans[:, 0]))
    last = first + float(np.median(np.diff(traces.spans)))
    starts = round_starts(
        first, last, round_seconds, devices=traces.num_devices, entries=len(traces.times), name=name
    )
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


def _in_rounds(
    entries: Entries, round_seconds: int, name: str, seen: np.ndarray | None = None
) -> AvailabilityLog:
    starts = starts_of(entries, round_seconds, name)
    first = None if seen is None else np.searchsorted(starts, seen, side="right").clip(1)
    return AvailabilityLog(
        entries.in_rounds(starts),
        clients=entries.names,
        round_seconds=round_seconds,
        start=float(starts[0]) % DAY,
        first_round=first,
    )
