"""Lists of outages: rows that are times offline, as names of columns or words in them say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from f3ast_tff.availability.logs import column_traits as traits
from f3ast_tff.availability.logs.durations import seconds_of
from f3ast_tff.availability.logs.log_columns import Given, Reading
from f3ast_tff.availability.logs.log_reading import OF_RUN, Tried
from f3ast_tff.availability.logs.log_states import (
    ANY_ANSWER,
    STATES,
    is_of_offline,
    known_states,
    name_words,
)
from f3ast_tff.availability.logs.log_table import LogTable
from f3ast_tff.availability.logs.log_words import GIVE_ONLINE
from f3ast_tff.core.errors import DataError

# Words that name a row, or its end, as an outage; words for the end of an outage alone.
_OUTAGES = frozenset({"outage", "outages", "downtime", "downtimes", "absences", "ausfälle"})
_BACK = frozenset(
    {"reconnected", "restored", "recovered", "repaired", "returned"}
    | {"resolved", "recovery", "acknowledged", "rejoined", "again"}
)
# Names of a begin that may have another meaning elsewhere.
_BEGINS = frozenset(
    {"left", "gone", "gap", "incident", "dropped", "sleep", "vacation", "unresponsive"}
)
# Lengths with these words, such as `time_to_failure`, are of the time online before.
_OTHER_LENGTHS = frozenset(
    {"to", "until", "till", "before", "between", "failed", "failure"}
    | {"loss", "exit", "errors", "exitcode"}
)
_LOOK_SO = f"rows look like outages, times offline, and {GIVE_ONLINE}"
# Units, seconds; share of the rows that must agree; largest relative error of their total length.
_UNITS, _AGREES, _WHOLE = (1e-3, 1.0, 60.0, 3600.0), 0.95, 0.1


def refuse_outages(table: LogTable, found: Tried, given: Given) -> Tried:
    """Returns a reading of spans that are times online, with a note if only the user says so.

    Args:
        table: The table.
        found: The reading, carried out.
        given: The user's description of the log.

    Raises:
        DataError: If its rows look like outages; says by what, and what to give.
    """
    if said := outages_said(table, found, given):
        raise DataError(said)
    column = _named(found.reading) if _may_be_outages(table, found.reading) else None
    if column is None or given.of_outages:
        return found
    note = (
        f"column {column!r} says by its name that the rows are outages, times offline; they are "
        "read as times online, as is given"
    )
    return replace(found, visits=replace(found.visits, notes=(*found.visits.notes, note)))


def outages_said(table: LogTable, found: Tried, given: Given) -> str:
    """Returns, in words, why the rows of a reading look like outages; empty if they do not.

    Args:
        table: The table.
        found: The reading, carried out.
        given: The user's description; columns given for a part are of times online.
    """
    reading = found.reading
    if given.of_outages or not _may_be_outages(table, reading):
        return ""
    column = _named(reading)
    if column is not None:
        own = {each.lower() for each in given.columns.values()}
        return "" if str(column).strip().lower() in own else named_so(table, column)
    for column in traits.left(table, reading) if reading.state is None else ():
        way = f", or say by {given.flag({'ignore': column})} {OF_RUN} that it decides nothing"
        if _all_off(table, column, reading):
            word = traits.values_of(table, column)[0]
            return f"{table.name}: {all_off_said(word, column)}{way}"
        if _names_outages(table, column, found):
            return named_so(table, column) + way
    if "start" not in given.columns and name_words(Path(table.name).stem) & _OUTAGES:
        return f"{table.name}: by the name of the file its {_LOOK_SO}"
    return ""


def all_off_said(word: str, column: Any) -> str:
    """Returns, in words, that a word of a column says that all spans are times offline."""
    said = f"all spans are {word!r} in column {column!r}: they look like outages, times offline"
    return f"{said}, and {GIVE_ONLINE}"


def named_so(table: LogTable, column: Any) -> str:
    """Returns, in words, that the name of a column says that rows are times offline."""
    return f"{table.name}: by the name of column {column!r} its {_LOOK_SO}"


def length_of_outages(table: LogTable, reading: Reading) -> Any:
    """Returns an unused column of lengths of outages; `None` without one."""
    names = [c for c in traits.left(table, reading) if _names_length(c)]
    names = [c for c in names if not traits.is_of_states(table, c, STATES)]
    return next((c for c in names if np.isfinite(seconds_of(table, c)[0]).all()), None)


def _may_be_outages(table: LogTable, reading: Reading) -> bool:
    """Whether rows are spans, and no state says that a span is offline."""
    if not reading.of_spans or reading.state is None:
        return reading.of_spans
    return False not in known_states(table.coded(reading.state), reading.meant)


def _named(reading: Reading) -> Any:
    """The column in use whose name says that rows are outages; `None` without one.

    Visits may end at `disconnected_at`, outages begin there.
    """
    begins = reading.begins
    if begins is not None and (is_of_offline(begins) or name_words(begins) & _BEGINS):
        return begins
    if reading.end is not None and name_words(reading.end) & (_OUTAGES | _BACK):
        return reading.end
    uses_length = reading.begins is None or reading.end is None
    return reading.duration if uses_length and _names_length(reading.duration) else None


def _names_length(column: Any) -> bool:
    return is_of_offline(column) and not name_words(column) & _OTHER_LENGTHS


def _all_off(table: LogTable, column: Any, reading: Reading) -> bool:
    """Whether all rows of a column say offline: `link lost`, or yes in a column named `is_down`."""
    # Texts, as upper case tells words apart: `HostDown`.
    texts = traits.values_of(table, column)
    if not texts or not traits.is_filled(table, column):
        return False
    if all(map(is_of_offline, texts)):
        return not any(reading.words.get(word) for word in traits.words_in(table, column))
    return is_of_offline(column) and all(
        word in ANY_ANSWER and STATES[word] for word in traits.words_in(table, column)
    )


def _names_outages(table: LogTable, column: Any, found: Tried) -> bool:
    """Whether a column beside the spans has their lengths, as times offline, or names outages."""
    if not is_of_offline(column):
        return False
    lengths, _ = seconds_of(table, column)
    if np.isfinite(lengths).any():
        return _names_length(column) and _has_lengths(lengths, found)
    is_named = bool(name_words(column) & _OUTAGES)
    return is_named and traits.is_filled(table, column) and not traits.is_of_times(table, column)


def _has_lengths(lengths: np.ndarray, found: Tried) -> bool:
    """Whether lengths equal the spans' lengths in some unit, perhaps rounded to it."""
    whole = found.visits.end - found.visits.begin
    known = np.isfinite(whole) & np.isfinite(lengths)
    if not known.any():
        return False
    whole, limit = whole[known], found.options.max_visit
    for unit in _UNITS:
        other = np.minimum(lengths[known] * unit, np.inf if limit is None else limit)
        near = np.abs(whole - other) <= unit
        if near.mean() >= _AGREES and abs(other.sum() - whole.sum()) <= _WHOLE * whole.sum():
            return True
    return False
