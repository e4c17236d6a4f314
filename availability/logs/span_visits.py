"""Spans of devices: from rows of a begin, and an end or a length, to visits."""

from __future__ import annotations

import shlex

import numpy as np

from f3ast_tff.availability.logs.device_traces import DAY
from f3ast_tff.availability.logs.durations import are_of_ends, period_of_totals, read_duration
from f3ast_tff.availability.logs.event_visits import in_zone, zoned
from f3ast_tff.availability.logs.local_times import check_no_fall_back
from f3ast_tff.availability.logs.log_columns import Reading, devices_of
from f3ast_tff.availability.logs.log_entries import Visits, between, closing, first_seen
from f3ast_tff.availability.logs.log_states import name_words, states_of
from f3ast_tff.availability.logs.log_table import LogTable
from f3ast_tff.availability.logs.log_times import looks_like_dates, read_times
from f3ast_tff.availability.logs.log_words import GIVE_ONLINE
from f3ast_tff.availability.logs.time_units import duration_text
from f3ast_tff.core.errors import DataError

_HOUR = 3600
# Share of the time online that is offline by other spans, above which a column is missing.
_CONTRADICTED = 0.01
# Rows that end before they begin, if most do, by names of an end, are the times between visits.
_MOSTLY, _LEAVING = 0.95, frozenset({"disconnected", "logout", "offline", "down", "lost"})


def visits_of_spans(
    table: LogTable, reading: Reading, unit: str, max_visit: float | None
) -> Visits:
    """Returns the visits of a table of spans; a span without an end lasts to the log's end.

    Spans have a begin and an end, or one of them and a length.

    Args:
        table: The table.
        reading: Its columns; with a state, the spans of which it is online are visits.
        unit: See `read_times`.
        max_visit: Longest visit, seconds; `None` for no limit.

    Raises:
        DataError: If an entry cannot be read, or spans contradict each other; names column and row.
        ParameterError: If the reading's zone is unknown.
    """
    start, end, name = reading.begins, reading.end, table.name
    if reading.of_outages and max_visit is not None:
        raise DataError(f"{name}: --max_visit closes visits: must not be given with rows=offline")
    if reading.seen is not None:
        end = None
    columns = [each for each in (start, end) if each is not None]
    read = read_times(
        [table.frame[column] for column in columns], name, unit, ends=(False, True), table=table
    )
    names, place = devices_of(table, reading.device)
    seconds, notes = list(read.seconds), []
    if reading.zone:
        for k, column in enumerate(columns):
            found, more = zoned(seconds[k], reading, place, table, local=read.local, column=column)
            seconds[k] = found
            notes += more
    elif read.local:
        check_no_fall_back(seconds[0], place, table, columns[0])
    began, ended, said = seconds[0], seconds[-1], ""
    if len(columns) == 1:
        of_length = unit if looks_like_dates(table.frame[columns[0]]) else ""
        # From ends lengths reach back.
        towards = began if end is None else -ended
        if reading.seen is not None:
            length, said = _until_next(place, began)
        else:
            length, said = read_duration(table, reading.duration, place, towards, of_length)
        ways = [
            f"--columns={part}={start},duration={reading.duration}" for part in ("end", "start")
        ]
        ends, begins = [shlex.quote(way + ",rows=offline" * reading.of_outages) for way in ways]
        by_time = start == reading.time and start is not None
        if by_time and are_of_ends(place, began, length):
            raise DataError(
                f"{name}: spans of {reading.duration!r} from {start!r} on overlap, and do not if "
                f"they end then: say which by {ends} or {begins} (of a run --table_columns)"
            )
        period = 0.0 if start is None else period_of_totals(place, began, length)
        said_so = f"{reading.duration!r} is a part of each {duration_text(period)}, as a total is, "
        said_so += "which does not say when a device is online"
        if period and by_time:
            raise DataError(
                f"{name}: {said_so}: give the times, or say that each row begins at its time by "
                f"{begins} (of a run --table_columns)"
            )
        notes += [f"{said_so}; each row is read as a span that begins at its time"] * bool(period)
        began, ended = (began, began + length) if end is None else (ended - length, ended)
        seconds = [began]
    _refuse_early(began, ended, table, reading, local=read.local)
    online = np.ones(len(began), bool)
    if reading.state is not None:
        online = states_of(table, reading.state, reading.meant) != reading.of_outages
    endless = np.isinf(ended)
    last = float(np.where(endless, began, ended).max())
    if max_visit is not None:
        long = online & (ended - began > max_visit)
        if long.any():
            notes.append(f"{long.sum()} visits were closed after {duration_text(max_visit)}")
        ended = np.where(long, began + max_visit, ended)
        last = min(last, float(ended.max())) if not endless.any() else max(last, began.max())
    elif (endless & online).any():
        lengths = (ended - began)[online & ~endless]
        notes.append(
            f"{(endless & online).sum()} of {len(ended)} spans have no end, and last until the "
            f"log's end; {closing(lengths)}"
        )
    if (ended == began).any() and not (np.append(began, ended[~endless]) % DAY).any():
        notes.append("spans begin and end on one day, without a time: ends are read as midnight")
    if last == began.min():
        raise DataError(f"{name}: has no length: all spans begin when the log ends")
    odd = _contradictions(place, began, np.minimum(ended, last), online)
    if odd > _CONTRADICTED:
        raise DataError(
            f"{name}: {odd:.1%} of the time online is offline by other spans of the same device: "
            f"is {reading.device!r} the device, and {reading.state!r} its state?"
        )
    visits = Visits(
        names,
        place=place[online],
        begin=began[online],
        end=ended[online],
        first=float(began.min()),
        last=last,
        seen=first_seen(place, began, len(names)),
        read=in_zone(read, tuple(seconds), reading.zone),
        notes=tuple(notes),
        said=said,
        odd=odd + _overlaps(place[online], began[online], ended[online]),
    )
    return between(visits) if reading.of_outages else visits


def _until_next(place: np.ndarray, seen: np.ndarray) -> tuple[np.ndarray, str]:
    """How long a device is there from each sighting on: until the next, if that is near.

    Near is twice the usual time between two; from the last one before a gap it is there for the
    usual time.
    """
    order = np.lexsort((seen, place))
    apart = np.full(len(seen), np.inf)
    apart[:-1] = np.where(place[order][1:] == place[order][:-1], np.diff(seen[order]), np.inf)
    known = apart[np.isfinite(apart) & (apart > 0)]
    usual = float(np.median(known)) if len(known) else 0.0
    length = np.empty(len(seen))
    length[order] = np.where(apart <= 2 * usual, apart, usual)
    every = duration_text(usual)
    return length, f"rows every {every}: there from each until the next, or for {every}"


def _refuse_early(
    began: np.ndarray, ended: np.ndarray, table: LogTable, reading: Reading, *, local: bool
) -> None:
    early = np.flatnonzero(ended < began)
    if not len(early):
        return
    column = reading.duration if reading.end is None else reading.end
    if len(early) >= _MOSTLY * len(began) and name_words(reading.end) & _LEAVING:
        bounds = f"from {reading.end!r} to {reading.begins!r}"
        said = f"{bounds} the rows look like outages, times offline, and {GIVE_ONLINE}"
        raise DataError(f"{table.name}: {said}")
    said = f"{table.name}: column {column!r}, {table.row(int(early[0]))}: is before its "
    said += str(reading.begins)
    if local and not reading.zone and (began - ended)[early].max() <= _HOUR:
        said += "; are these local times at the end of summer time? Say their zone by "
        said += "--columns=zone=Europe/Berlin, or whichever it is"
    raise DataError(said)


def _overlaps(place: np.ndarray, began: np.ndarray, ended: np.ndarray) -> float:
    """Share of the spans that begin before the one before ends, in their device."""
    order = np.lexsort((began, place))
    same = place[order][1:] == place[order][:-1]
    early = same & (began[order][1:] < ended[order][:-1])
    return float(early.sum()) / max(len(place), 1)


def _contradictions(
    place: np.ndarray, began: np.ndarray, ended: np.ndarray, online: np.ndarray
) -> float:
    """Share of the time online that spans of the other state say is offline."""
    if online.all() or not online.any():
        return 0.0
    edges = np.concatenate([began, ended])
    order = np.lexsort((edges, np.tile(place, 2)))
    on, off = np.where(online, 1, 0), np.where(online, 0, 1)
    lengths = np.append(np.diff(edges[order]), 0.0)
    is_on = np.cumsum(np.concatenate([on, -on])[order]) > 0
    is_off = np.cumsum(np.concatenate([off, -off])[order]) > 0
    whole = float(lengths[is_on].sum())
    return float(lengths[is_on & is_off].sum()) / whole if whole else 0.0
