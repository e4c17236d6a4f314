"""Logs with unusual names of columns: likely readings, tried on the whole table."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from f3ast_tff.availability.logs import column_traits as traits
from f3ast_tff.availability.logs.durations import (
    counts_up,
    holds_lengths,
    is_named_duration,
    seconds_of,
)
from f3ast_tff.availability.logs.left_over import completed
from f3ast_tff.availability.logs.log_columns import (
    KNOWN,
    LOG_FORMS,
    Given,
    Reading,
    devices_of,
    plain_name,
)
from f3ast_tff.availability.logs.log_masks import DATED, refuse_a_row_per_client
from f3ast_tff.availability.logs.log_reading import (
    OF_RUN,
    Options,
    Tried,
    distinct,
    said_of,
    that_fits,
    tried,
    with_parts,
)
from f3ast_tff.availability.logs.log_states import (
    ANY_ANSWER,
    STATES,
    is_of_offline,
    likely_state,
    name_words,
    unknown_words,
)
from f3ast_tff.availability.logs.log_table import GAPS, LogTable
from f3ast_tff.availability.logs.log_times import read_times
from f3ast_tff.availability.logs.log_words import perhaps_outages, says_off, worded
from f3ast_tff.availability.logs.outages import length_of_outages, named_so, outages_said
from f3ast_tff.availability.logs.time_units import unit_named
from f3ast_tff.core.client_names import listed
from f3ast_tff.core.errors import DataError
from f3ast_tff.core.frame_columns import is_number

# Most columns of a log, most readings tried, most readings shown.
_MOST_COLUMNS, _MOST_TRIES, _MOST_SHOWN = 50, 12, 6
# Readings are equally likely if their doubts (`_doubt`) differ by at most this.
_AS_LIKELY = 0.02
# Parts of the names that devices and their columns have.
_OF_DEVICES = (
    *("device", "client", "node", "host", "machine", "sensor", "entity", "thing", "series"),
    *("instance", "imei", "mac", "serial", "phone", "user", "asset", "station", "unit", "ups"),
    *("monitor", "peer", "agent"),
)
_ENDS = frozenset({"end", "ended", "expire", "expires", "finished", "stopped", "closed", "until"})
_ORDERED = 0.95


def refuse_columns(table: LogTable, found: Reading, given: Given, options: Options) -> NoReturn:
    """Raises `DataError` on a log without known columns; says which readings are likely.

    Args:
        table: The table.
        found: The columns known by name, or given.
        given: The user's description of the log.
        options: Options of the reading.
    """
    frame, name = table.frame, table.name
    found = that_fits(table, found, given.columns, options.time_unit)
    if found.device is not None and frame[found.device].is_unique:
        refuse_a_row_per_client(frame[found.device], frame.columns.drop(found.device), name)
    dated = [c for c in frame.columns if DATED.match(str(c))]
    if all(map(is_number, frame.columns)) or any(traits.is_of_times(table, c) for c in dated):
        raise DataError(f"{name}: its first line must name the columns, as in {LOG_FORMS}")
    if 2 * len(dated) > frame.shape[1]:
        allowed = "must have a row per device and time, as table.melt makes in pandas"
        raise DataError(f"{name}: its columns are times, such as {dated[0]}: {allowed}")
    likely, failed = _likeliest(table, found, given, options)
    likely = _without_outages(table, given, completed(table, given, options, likely), found)
    of_spans = likely[0].reading.of_spans if likely else bool(found.start or found.end)
    parts = ("device", "start", "end") if of_spans else ("device", "time", "state")
    lacks = [part for part in parts if getattr(found, part) is None]
    if of_spans and likely and likely[0].reading.duration is not None:
        lacks = [part for part in lacks if part not in ("start", "end")] + ["end"]
    said = " or ".join("online" if part == "state" else part for part in lacks)
    has = f"{name}: has no column {said}, as in {LOG_FORMS}; it has {listed(frame.columns)}: say "
    outages = perhaps_outages(table, [each.reading for each in likely], given.words)
    if len(likely) == 1:
        flag = given.flag(likely[0].more)
        raise DataError(f"{has}which they are by {flag} {OF_RUN}: {likely[0].outcome}{outages}")
    if likely:
        shown = " or ".join(sorted(said_of(given, each) for each in likely))
        raise DataError(f"{has}which they are, by {shown} {OF_RUN}{outages}")
    if failed is not None:
        more, reason = failed
        raise DataError(f"{has}which they are by {given.flag(more)} {OF_RUN}; but {reason}")
    if said_so := _of_sightings(table, found, given, options):
        raise DataError(f"{has.removesuffix(' say ')} {said_so}")
    flag = given.flag(dict.fromkeys(lacks, "NAME"))
    known = ", ".join(each for part in lacks for each in KNOWN[part])
    raise DataError(f"{has}which they are by {flag} {OF_RUN}. Names that are known: {known}")


def _of_sightings(table: LogTable, found: Reading, given: Given, options: Options) -> str:
    """Advice if each row may be a sighting of a device, such as a heartbeat; else `""`."""
    if found.state is not None or found.start is not None or found.end is not None:
        return ""
    columns = [c for c in table.frame.columns if traits.is_readable(table, c)]
    times = [found.time] if found.time is not None else []
    times = times or [c for c in columns if traits.is_of_times(table, c)]
    if len(times) != 1 or any(is_of_offline(c) for c in columns):
        return ""
    others = [c for c in columns if c not in times]
    # Rows with another time, or a word such as `off`, are no sightings.
    off = [c for c in others if {"off", "none"}.intersection(table.coded(c).words)]
    if off or any(traits.is_of_times(table, c) or says_off(table, c, found.words) for c in others):
        return ""
    devices = [found.device] if found.device is not None else _devices(table, others, [])
    ways = [
        {**({"device": each} if each != found.device else {}), "seen": times[0]} for each in devices
    ]
    each = [tried(table, with_parts(found, more), options, more) for more in ways]
    likely = [one for one in distinct(each) if 0 < one.shares.mean() < 1]
    # Rows with a column that may be a state are no sightings.
    likely = [
        one
        for one in completed(table, given, options, likely)
        if one.more.keys() <= {"device", "seen"}
    ]
    if not likely:
        return ""
    shown = " or ".join(said_of(given, one) for one in likely)
    return f"if each row says that a device is there, as a heartbeat does, {shown} {OF_RUN}"


def _without_outages(
    table: LogTable, given: Given, likely: list[Tried], found: Reading
) -> list[Tried]:
    """The readings whose rows do not look like outages; `DataError` if all do, or only a length."""
    said = [outages_said(table, each, given) for each in likely]
    if likely and all(said):
        raise DataError(said[0])
    column = None if likely or given.of_outages else length_of_outages(table, found)
    if column is not None:
        raise DataError(named_so(table, column))
    return [each for each, outages in zip(likely, said) if not outages]


def is_likely_log(table: LogTable) -> bool:
    """Whether a table is most likely a log: with times, and with names or few states beside."""
    if table.frame.shape[1] > _MOST_COLUMNS:
        return False
    columns = [c for c in table.frame.columns if traits.is_readable(table, c)]
    of_states = [c for c in columns if _share_of_states(table, c) > 0.5]
    times = [c for c in columns if traits.is_of_times(table, c)]
    if not times:
        return False
    if len(columns) < 3:
        # Such as the times at which devices were seen.
        return any(_is_named(c) and _names_rows(table, c) for c in columns if c not in times)
    few = 2 * len(of_states) < table.frame.shape[1]
    return few or any(_names_rows(table, c) for c in columns if c not in (*of_states, *times))


def has_other_devices(table: LogTable, found: Reading) -> bool:
    """Whether the known column of devices has one value, and another column may name devices."""
    if found.device is None or len(table.coded(found.device).values) > 1:
        return False
    columns = traits.left(table, found)
    return any(_is_named(c) and _names_rows(table, c) for c in columns)


def has_other_times(table: LogTable, found: Reading) -> bool:
    """Whether the known column of times has numbers that fall, and another column has times."""
    if found.time is None or traits.is_of_times(table, found.time):
        return False
    if traits.rises(table, found.time) or not np.isfinite(table.coded(found.time).numbers).all():
        return False
    return any(traits.is_of_times(table, c) for c in traits.left(table, found))


def _names_rows(table: LogTable, column: Any) -> bool:
    """Whether a column has texts that come again, as the names of devices do."""
    found = table.coded(column)
    many = len(traits.values_of(table, column))
    return 1 < many < len(table) and not np.isfinite(found.numbers).any()


def _is_named(column: Any) -> bool:
    return any(part in plain_name(column) for part in _OF_DEVICES)


def _share_of_states(table: LogTable, column: Any) -> float:
    found = table.coded(column)
    return float(
        found.of_rows([word in STATES or word in GAPS for word in found.words], True).mean()
    )


def _likeliest(
    table: LogTable, found: Reading, given: Given, options: Options
) -> tuple[list[Tried], tuple[dict[str, Any], str] | None]:
    """The readings that contradict themselves least, each outcome once.

    If no reading is usable: also the parts of the first one that failed, and the reason.
    """
    done: list[Tried] = []
    failed = None
    for spans in (True, False):
        # Two times per row may be stamps of one event.
        for more in itertools.islice(_candidates(table, found, spans=spans), _MOST_TRIES):
            own = {*given.columns, *more}
            reading = that_fits(table, with_parts(found, more), own, options.time_unit)
            if not (reading.of_spans or reading.of_events):
                continue
            each = tried(table, reading, options, more)
            if isinstance(each, DataError):
                failed = failed or (more, str(each).removeprefix(f"{table.name}: "))
            elif 0 < each.shares.mean() < 1:
                done.append(each)
            elif not failed:
                failed = (
                    more,
                    f"by it all devices are {'on' if each.shares.any() else 'off'}line always",
                )
        if done:
            break
    if not done:
        return [], failed
    # The outcome of a reading cannot tell which words mean online; of spans, not the state.
    doubts: dict[frozenset[Any], float] = {}
    keys = []
    for each in done:
        state = None if each.reading.of_events else "state"
        keys.append(frozenset(pair for pair in each.reading.used.items() if pair[0] != state))
        doubts[keys[-1]] = min(_doubt(each), doubts.get(keys[-1], np.inf))
    least = min(doubts.values()) + _AS_LIKELY
    likely = [each for each, columns in zip(done, keys) if doubts[columns] <= least]
    return distinct(likely)[:_MOST_SHOWN], None


def _doubt(each: Tried) -> float:
    """Rows that contradict others, and notes on what looks wrong."""
    alone = len(each.shares) == 1
    return each.visits.odd + 0.1 * len(each.visits.notes) + 0.05 * alone


def _candidates(table: LogTable, found: Reading, *, spans: bool = True) -> Iterable[dict[str, Any]]:
    """Likely parts to give, the likeliest first; without spans each time is tried alone."""
    used = {column for column in (*found.used.values(), *found.ignored)}
    used |= {getattr(found, part) for part in KNOWN}
    columns = [c for c in list(table.frame.columns)[:_MOST_COLUMNS] if c not in used]
    columns = [c for c in columns if traits.is_readable(table, c)]
    constant = [c for c in columns if len(traits.values_of(table, c)) < 2]
    times = [c for c in columns if traits.is_of_times(table, c) and not is_named_duration(c)]
    times = [c for c in times if c not in constant] or times
    columns = [c for c in columns if c not in constant]
    if not times:
        # Such as `minute`, counted from the log's start.
        times = [c for c in columns if unit_named(c) and traits.rises(table, c)]
    lengths = [c for c in columns if c not in times and holds_lengths(table, c)]
    others = [c for c in columns if c not in (*times, *lengths) and not is_named_duration(c)]
    devices = (
        [{}]
        if found.device is not None
        else [{"device": c} for c in _devices(table, others, constant)]
    )
    for device in devices:
        name = device.get("device", found.device)
        codes = table.coded(name).codes
        states = [c for c in columns if traits.is_of_states(table, c, found.words)]
        if device and any(_is_same(codes, table.coded(c).codes) for c in states if c != name):
            continue  # Such as the reasons of states.
        left = [c for c in others if c != name and not traits.is_of_device(table, c, codes)]
        for when in _times(table, found, name, times, lengths, spans=spans):
            reading = with_parts(found, {**device, **when})
            if reading.of_spans:
                yield from _spans(table, reading, left, device, when)
            if reading.time is not None and (reading.end is None or not reading.of_spans):
                yield from _events(table, reading, left, device, when)


def _ordered(*parts: Mapping[str, Any]) -> dict[str, Any]:
    return {part: value for each in parts for part, value in each.items()}


def _spans(
    table: LogTable,
    reading: Reading,
    left: list[Any],
    device: Mapping[str, Any],
    when: Mapping[str, Any],
) -> Iterable[dict[str, Any]]:
    if reading.state is None:
        states = [c for c in left if traits.is_of_states(table, c, reading.words)]
        yield from (_ordered(device, when, {"state": c}) for c in states)
        if all(traits.words_in(table, c) <= ANY_ANSWER for c in states):
            yield _ordered(device, when)
    elif unknown_words(table.coded(reading.state), reading.words):
        if not says_off(table, reading.state, reading.words):
            yield _ordered(device, when, {"ignore": reading.state})
        # Without a way, the error says why it cannot be read so.
        yield from (_ordered(device, when, way) for way in worded(table, reading) or [{}])
    else:
        yield _ordered(device, when)


def _events(
    table: LogTable,
    reading: Reading,
    left: list[Any],
    device: Mapping[str, Any],
    when: Mapping[str, Any],
) -> Iterable[dict[str, Any]]:
    if reading.state is not None:
        ways = worded(table, reading)
        yield from (_ordered(device, when, way) for way in ways or [{}])
        return
    known = [c for c in left if traits.is_of_states(table, c, reading.words)]
    known = known or [c for c in left if _is_nearly_of_states(table, c, reading)]
    codes = [] if known else [c for c in left if traits.is_of_codes(table, c)]
    both = [c for c in codes if {*map(likely_state, traits.values_of(table, c))} >= {True, False}]
    for column in known or both or codes:
        with_state = replace(reading, state=column)
        if unknown_words(table.coded(column), reading.words) or not traits.is_filled(table, column):
            ways = worded(table, with_state)
            yield from (_ordered(device, when, {"state": column}, way) for way in ways)
        else:
            yield _ordered(device, when, {"state": column})


def _is_nearly_of_states(table: LogTable, column: Any, reading: Reading) -> bool:
    """Whether a column has words of states for the most part, and few others or gaps."""
    found = table.coded(column)
    means = [reading.words.get(word) for word in found.words]
    share = found.of_rows([state is not None for state in means], False).mean()
    return len(found.values) <= 8 and bool(share > 0.5) and len({*means} - {None}) == 2


def _times(
    table: LogTable,
    found: Reading,
    device: Any,
    times: list[Any],
    lengths: list[Any],
    *,
    spans: bool,
) -> list[dict[str, Any]]:
    """The times of spans and of events that a table may have."""
    begun = {part: getattr(found, part) for part in ("start", "end", "time")}
    if found.of_spans and (begun["time"] is None or begun["start"] is not None):
        return [{}]
    if begun["start"] is not None or begun["end"] is not None:
        part = "end" if begun["end"] is None else "start"
        return [{part: column} for column in times] or [{"duration": c} for c in lengths]
    ways: list[dict[str, Any]] = []
    known = [begun["time"]] if begun["time"] is not None and found.state is None else []
    for first, second in itertools.combinations([*known, *times], 2) if spans else ():
        order = _order(table, first, second)
        if order:
            start, end = (first, second) if order > 0 else (second, first)
            ways.append({"start": start, "end": end})
    if ways:
        return ways
    for column in [begun["time"]] if begun["time"] is not None else times:
        time = {} if begun["time"] is not None else {"time": column}
        for length in lengths:
            counts = name_words(column) & _ENDS or _counts_up(table, device, column, length)
            ways.append({**({"end": column} if counts else time), "duration": length})
        ways.append(time)
    return ways


def _counts_up(table: LogTable, device: Any, time: Any, length: Any) -> bool:
    """Whether a column holds the time since a device started, so that spans end at their rows."""
    try:
        seconds = read_times([table.frame[time]], table.name, table=table).seconds[0]
        return counts_up(devices_of(table, device)[1], seconds, seconds_of(table, length)[0])
    except DataError:
        return False


def _order(table: LogTable, first: Any, second: Any) -> int:
    """1 if the second column may hold the ends of spans, -1 if the first, 0 if neither."""
    columns = [table.frame[first], table.frame[second]]
    try:
        a, b = read_times(columns, table.name, ends=(True, True), table=table).seconds
    except DataError:
        texts = [column.astype(str) for column in columns]
        later = float((texts[1] >= texts[0]).mean())
        return 1 if later >= 0.5 else -1
    known = np.isfinite(a) & np.isfinite(b)
    if not known.any():
        return 0
    apart = (b - a)[known]
    whole = max(float(np.ptp(a[known])), float(np.ptp(b[known])))
    if np.median(np.abs(apart)) * len(table) <= 0.05 * whole:
        return 0  # Two stamps of one moment.
    later, earlier = float((apart >= 0).mean()), float((apart <= 0).mean())
    return 1 if later >= _ORDERED else -1 if earlier >= _ORDERED else 0


def _devices(table: LogTable, columns: list[Any], constant: list[Any]) -> list[Any]:
    """Columns that may name devices, as their values repeat; equal columns once."""
    rows = len(table)
    # Numbers such as 0.25 name no devices.
    columns = [c for c in columns if not (table.coded(c).numbers % 1 > 0).any()] or columns
    named = [c for c in columns if _is_named(c) and traits.is_filled(table, c)]
    again = [c for c in columns if len(traits.values_of(table, c)) < rows]
    likely = [c for c in again if c in named] or [
        c
        for c in again
        if not traits.is_of_states(table, c, STATES)
        and not all(likely_state(text) is not None for text in traits.values_of(table, c))
    ]
    likely = likely or named or columns or [c for c in constant if str(c).strip()]
    kept: list[Any] = []
    for column in likely:
        codes = table.coded(column).codes
        if not any(_is_same(codes, table.coded(other).codes) for other in kept):
            kept.append(column)
    return kept


def _is_same(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two columns of codes tell the same rows apart."""
    pairs = len(np.unique(a.astype(np.int64) * (int(b.max()) + 2) + b + 1))
    return pairs == len(np.unique(a)) == len(np.unique(b))
