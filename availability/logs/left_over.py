"""Unused columns of a log: a column that may decide who is online is never passed over."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from f3ast_tff.availability.logs import column_traits as traits
from f3ast_tff.availability.logs.durations import (
    counts_up,
    is_named_duration,
    reaches_back,
    reaches_forward,
    seconds_of,
)
from f3ast_tff.availability.logs.log_columns import Given, Reading, devices_of, joined
from f3ast_tff.availability.logs.log_reading import (
    OF_RUN,
    Options,
    Tried,
    distinct,
    said_of,
    tried,
    with_parts,
)
from f3ast_tff.availability.logs.log_states import known_states, states_of
from f3ast_tff.availability.logs.log_table import LogTable
from f3ast_tff.availability.logs.log_times import read_times
from f3ast_tff.availability.logs.log_words import worded
from f3ast_tff.core.errors import DataError

# Largest distance of two stamps of one moment, as a share of the usual step.
_SAME_MOMENT = 0.05
# Rows per session: a begin and an end.
_SESSION = 1.5, 2.5
# Share of the rows that contradict others, above which another column may be the device.
_ODD = 0.1
# Most kinds of rows, such as measured quantities; fewest times at which a device has two states.
_MOST_KINDS, _FEWEST_TWICE = 20, 3
# Share of the rows that must agree before a column is taken as a begin, an end or a length.
_AGREES = 0.95
_MOST_COLUMNS = 200
# Ways to read a log that a message may offer.
_MOST_WAYS = 8
_SHOWN = 40
# Names of columns of zones, and what those have.
_OF_ZONES = re.compile("time[ _-]?zone|(?:utc|gmt|tz|time)[ _-]?offset")
_ZONE = re.compile(r"(?:UTC|GMT)?[+-]\d\d?(?::?\d\d)?|(?:America|Asia|Australia|Europe)/\w+.*")


def refuse_left_over(table: LogTable, given: Given, options: Options, found: Tried) -> None:
    """Raises `DataError` if an unused column would give another answer; says both.

    Columns of few values, words of states, lengths, ends or sessions are tried in their part of
    the log. A column decides nothing if it has one value per device, or repeats a column in use.

    Args:
        table: The table.
        given: The user's description of it.
        options: Options of the reading.
        found: The reading, carried out.
    """
    left = _left_over(table, given, options, found)
    if left is not None:
        column, what, ways = left
        shown = sorted(said_of(given, each) for each in completed(table, given, options, ways))
        raise DataError(
            f"{table.name}: column {column!r} {what}, and is not used: "
            f"{' or '.join(shown)} {OF_RUN}"
        )


def completed(
    table: LogTable, given: Given, options: Options, likely: Sequence[Tried]
) -> list[Tried]:
    """Returns readings completed by further parts, so that no column is left over.

    A reading with a column left over is replaced by the readings that this column would give. If
    this makes more ways than `_MOST_WAYS`, the readings are returned as they are.

    Args:
        table: The table.
        given: The user's description of it.
        options: Options of the reading.
        likely: Readings, each with the parts to give for it.
    """
    if table.form:
        return list(likely)
    done: list[Tried] = []
    todo = list(likely)
    while todo and len(done) + len(todo) <= _MOST_WAYS:
        each = todo.pop(0)
        left = _left_over(table, given.and_also(each.more), options, each)
        if left is None:
            done.append(each)
        else:
            todo += [replace(way, more=joined(each.more, way.more)) for way in left[2]]
    return list(likely) if todo else distinct(done)


def _left_over(
    table: LogTable, given: Given, options: Options, found: Tried
) -> tuple[Any, str, list[Tried]] | None:
    """The first column that may decide: its likely part in words, and each way to go on."""
    reading = found.reading
    columns = traits.left(table, reading, _MOST_COLUMNS)
    columns = [
        c for c in columns if len(traits.values_of(table, c)) > 1 or traits.is_flag(table, c)
    ]
    if not columns:
        return None
    place = devices_of(table, reading.device)[1]
    for column in columns:
        zones = _has_zones(table, column, found)
        if not zones and traits.is_of_device(table, column, place):
            continue
        said = "has zones of the times (write them as 2024-06-01T18:00:00+02:00)"
        parts = [(said, [])] if zones else _parts(table, column, reading, place, found)
        for what, readings in parts:
            if readings and all(given.columns.keys() & more.keys() for more in readings):
                continue  # The user has said which column has that part.
            rivals = distinct(
                tried(table, with_parts(reading, more), options, more) for more in readings
            )
            rivals = [each for each in rivals if not each.is_as(found)]
            if not rivals and readings:
                continue
            kept = {"ignore": column}
            kept_as_it_is = replace(found, more=kept, reading=with_parts(reading, kept))
            ways = rivals if found.visits.lacks else [*rivals, kept_as_it_is]
            if ways:
                return column, what, ways
    return None


def _has_zones(table: LogTable, column: Any, found: Tried) -> bool:
    """Whether times have no zone, and a column has several."""
    read = found.visits.read
    if read is None or not read.local or found.reading.zone:
        return False
    named = _OF_ZONES.search(str(column).lower()) is not None
    return named or all(map(_ZONE.fullmatch, traits.values_of(table, column)))


def _parts(
    table: LogTable, column: Any, reading: Reading, place: np.ndarray, found: Tried
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Parts that a column may have: each in words, with the ways to give it."""
    read = found.visits.read
    if read is not None and not read.since_1970 and traits.is_of_times(table, column):
        yield "has times, and those in use count from the log's start", []
        return
    if _are_intervals(table, column, reading, found):
        yield "has numbers beside spans of one length that leave no gap", []
        return
    began = None if read is None else read.seconds[0]
    if began is not None and _are_lengths(table, column, reading, place, began):
        yield "looks like a duration", [{"duration": column}]
        return
    is_length = reading.of_events and is_named_duration(column)
    if is_length and not np.isfinite(seconds_of(table, column)[0]).any():
        word = traits.values_of(table, column)[0][:_SHOWN]
        yield f"looks like a duration, but {word!r} is no length of time that is known", []
    of_devices = _is_of_devices(table, column, reading, found)
    apart = (
        reading.of_events
        and began is not None
        and _tells_apart(table, column, reading, place, began)
    )
    if of_devices and not apart:
        yield "tells the devices apart", [{"device": column}]
        return
    if traits.is_of_states(table, column, reading.words):
        yield "looks like a state", [{"state": column}]
    elif _lacks_state(table, reading) and (
        traits.is_of_codes(table, column) or reading.of_spans and traits.is_flag(table, column)
    ):
        ways = worded(table, replace(reading, state=column), column)
        yield "has few values, as a state has", ways
    if began is None or not reading.of_events:
        return
    if apart:
        said = "tells apart rows of a device at one time (of what they measure, keep one)"
        yield said, [{"session": column}, *([{"device": column}] if of_devices else [])]
    elif _is_session(table, column, place):
        yield "looks like a session", [{"session": column}]
    elif _are_kinds(table, column, reading, found):
        yield "tells apart kinds of rows of a device (keep one)", []
    elif traits.is_of_times(table, column):
        yield from _ends(table, column, reading, place, began)


def _is_of_devices(table: LogTable, column: Any, reading: Reading, found: Tried) -> bool:
    """Whether rows contradict others of their device, and far fewer with a column as the device."""
    many = len(traits.values_of(table, column))
    few = 1 < many * _SESSION[1] <= (~table.repeats).sum()
    return few and _explains(table, column, column, reading, found)


def _are_kinds(table: LogTable, column: Any, reading: Reading, found: Tried) -> bool:
    """Whether rows contradict others of their device, and far fewer within a kind."""
    if len(traits.values_of(table, column)) > _MOST_KINDS:
        return False
    both = f"{reading.device}/{column}"
    frame = table.frame.assign(**{both: table.pairs(reading.device, column)})
    return _explains(replace(table, frame=frame, _coded={}), column, both, reading, found)


def _explains(table: LogTable, column: Any, device: Any, reading: Reading, found: Tried) -> bool:
    """Whether rows contradict others of their device, and far fewer by another device."""
    if found.visits.odd < _ODD or reading.session is not None or traits.is_of_times(table, column):
        return False
    other = tried(table, replace(reading, device=device), found.options)
    return isinstance(other, Tried) and other.visits.odd <= found.visits.odd / 4


def _are_intervals(table: LogTable, column: Any, reading: Reading, found: Tried) -> bool:
    """Whether spans of one length fill all of the time, and a column has a number for each."""
    if not reading.of_spans or len(table) == len(found.shares) or (found.shares < 1).any():
        return False
    is_number = np.isfinite(table.coded(column).numbers).all() and not traits.rises(table, column)
    return bool(is_number) and len(np.unique(found.visits.end - found.visits.begin)) == 1


def _lacks_state(table: LogTable, reading: Reading) -> bool:
    """Whether spans have no state, or events only one."""
    if reading.state is None:
        return not reading.of_outages
    known = {*known_states(table.coded(reading.state), reading.words)}
    return reading.of_events and len(known - {None}) < 2


def _are_lengths(
    table: LogTable, column: Any, reading: Reading, place: np.ndarray, began: np.ndarray
) -> bool:
    """Whether a column may hold the lengths of spans."""
    named = is_named_duration(column)
    lengths, plain = seconds_of(table, column)
    known = np.isfinite(lengths)
    if not known.any() or (lengths[known] < 0).any() or not (named or plain):
        return False
    if plain and not named and traits.is_of_times(table, column):
        return False
    if reading.of_spans:
        return named and not _repeats_end(table, reading, began, lengths)
    if reaches_back(place, began, lengths) or counts_up(place, began, lengths):
        return False
    return named or bool(known.all()) and reaches_forward(place, began, lengths, often=True)


def _repeats_end(table: LogTable, reading: Reading, began: np.ndarray, lengths: np.ndarray) -> bool:
    if reading.end is None:
        return False
    columns = [table.frame[reading.begins], table.frame[reading.end]]
    whole = read_times(columns, table.name, ends=(False, True), table=table).seconds[1] - began
    near = [np.abs(whole - lengths * unit) <= unit for unit in (1e-3, 1.0, 60.0, 3600.0)]
    known = np.isfinite(whole) & np.isfinite(lengths)
    return any(bool(each[known].mean() >= _AGREES) for each in near) if known.any() else True


def _tells_apart(
    table: LogTable, column: Any, reading: Reading, place: np.ndarray, began: np.ndarray
) -> bool:
    """Whether the few values of a column tell apart all rows of one device and time."""
    if reading.session is not None or len(traits.values_of(table, column)) > _MOST_KINDS:
        return False
    rows = np.stack([place, began])
    _, at, count = np.unique(rows, axis=1, return_inverse=True, return_counts=True)
    states = np.bincount(at.ravel(), states_of(table, reading.state, reading.words))
    if ((states > 0) & (states < count)).sum() < _FEWEST_TWICE:
        return False
    kinds = np.vstack([rows, table.coded(column).codes])
    return np.unique(kinds, axis=1).shape[1] == int((~table.repeats).sum())


def _is_session(table: LogTable, column: Any, place: np.ndarray) -> bool:
    found = table.coded(column)
    filled = found.filled & ~table.repeats
    rows = int(filled.sum())
    many = len(traits.values_of(table, column))
    if not rows or not _SESSION[0] <= rows / many <= _SESSION[1]:
        return False
    codes, devices = found.codes[filled].astype(np.int64), place[filled]
    return len(np.unique(codes * (int(place.max()) + 1) + devices)) == many


def _ends(
    table: LogTable, column: Any, reading: Reading, place: np.ndarray, began: np.ndarray
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    try:
        other = read_times([table.frame[column]], table.name, ends=(True,), table=table).seconds[0]
    except DataError:
        return
    order = np.lexsort((began, place))
    steps = np.diff(began[order])[(np.diff(place[order]) == 0)]
    steps = steps[steps > 0]
    known = np.isfinite(other)
    if not known.any() or not len(steps):
        return
    apart = (other - began)[known]
    if np.median(np.abs(apart)) <= _SAME_MOMENT * np.median(steps):
        return
    if (apart >= 0).mean() >= _AGREES:
        yield "looks like an end", [{"end": column}]
    elif (apart <= 0).mean() >= _AGREES and known.all():
        yield "looks like a start", [{"start": column, "end": reading.time}]
