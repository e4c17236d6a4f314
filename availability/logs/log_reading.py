"""Readings of a table, carried out or tried on the whole table."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from f3ast_tff.availability.logs import column_traits as traits
from f3ast_tff.availability.logs.durations import reaches_forward, seconds_of
from f3ast_tff.availability.logs.event_visits import visits_of_events
from f3ast_tff.availability.logs.log_columns import KNOWN, Given, Reading, devices_of
from f3ast_tff.availability.logs.log_entries import Visits, entries_of
from f3ast_tff.availability.logs.log_rounds import shares_of
from f3ast_tff.availability.logs.log_states import unknown_words
from f3ast_tff.availability.logs.log_table import LogTable
from f3ast_tff.availability.logs.log_times import read_times
from f3ast_tff.availability.logs.log_words import says_off
from f3ast_tff.availability.logs.span_visits import visits_of_spans
from f3ast_tff.core.errors import DataError

# Shares of readings that differ less are equal.
_EQUAL = 1e-9
OF_RUN = "(of a run --table_columns)"


@dataclass(frozen=True)
class Options:
    """Options of reading a log, besides its columns.

    Attributes:
        time_unit: Unit of times as numbers; empty to decide by them.
        max_visit: Longest visit, seconds; `None` for no limit.
        round_seconds: Length of a round.
    """

    time_unit: str = ""
    max_visit: float | None = None
    round_seconds: int = 3600


@dataclass(frozen=True, eq=False)
class Tried:
    """A reading that could be carried out.

    Attributes:
        more: Further parts to give for it.
        reading: The reading.
        visits: Visits by the reading.
        options: Options of the reading.
    """

    more: Mapping[str, Any]
    reading: Reading
    visits: Visits
    options: Options

    @cached_property
    def shares(self) -> np.ndarray:
        """Share of rounds online of each device, `float64 [D]`."""
        return shares_of(entries_of(self.visits), self.options.round_seconds)

    @property
    def outcome(self) -> str:
        """Number of devices and share online, in words."""
        return f"{len(self.shares)} devices, {self.shares.mean():.1%} online"

    def is_as(self, other: Tried) -> bool:
        """Whether another reading says the same."""
        same = self.visits.names == other.visits.names and len(self.shares) == len(other.shares)
        return same and bool(np.allclose(self.shares, other.shares, rtol=0, atol=_EQUAL))


def carried_out(table: LogTable, reading: Reading, options: Options) -> Visits:
    """Returns the visits in a table by a reading.

    Raises:
        DataError: If an entry cannot be read; names column and row.
        ParameterError: If the reading's zone is unknown.
    """
    carry = visits_of_spans if reading.of_spans else visits_of_events
    return carry(table, reading, options.time_unit, options.max_visit)


def that_fits(table: LogTable, reading: Reading, own: Container[str], unit: str) -> Reading:
    """Returns a reading without columns that do not fit, such as other lengths; `own` stay."""
    bounds = [getattr(reading, part) for part in ("start", "end") if part not in own]
    if any(c is not None and traits.is_of_states(table, c, reading.words) for c in bounds):
        return replace(reading, start=None, end=None)  # States `from` which and `to` which.
    if reading.state is not None and "state" not in own and not reading.of_spans:
        found = table.coded(reading.state)
        alone = len(found.values) == 1 < len(table) and unknown_words(found, reading.words)
        if alone and not says_off(table, reading.state, reading.words):
            reading = replace(reading, state=None)  # Such as the type of all rows.
    if reading.time is not None and reading.state is not None and len(bounds) == 2:
        there = [column for column in bounds if column is not None]
        if there and all(len(table.coded(column).values) == 1 for column in there):
            reading = replace(reading, start=None, end=None)
    if reading.duration is None or "duration" in own:
        return reading
    if reading.end is not None:
        return reading if reading.begins is None else replace(reading, duration=None)
    lengths, _ = seconds_of(table, reading.duration)
    if reading.start is None and 2 * (lengths > 0).sum() <= len(lengths):
        return replace(reading, duration=None)  # Such as at the ends of sessions.
    if reading.state is None or reading.device is None or reading.time is None:
        return reading
    column = table.frame[reading.time]
    try:
        began = read_times([column], table.name, unit, table=table).seconds[0]
    except DataError:
        return reading
    place = devices_of(table, reading.device)[1]
    return reading if reaches_forward(place, began, lengths) else replace(reading, duration=None)


def tried(
    table: LogTable, reading: Reading, options: Options, more: Mapping[str, Any] | None = None
) -> Tried | DataError:
    """Returns the outcome of a reading, or why the table cannot be read so.

    Args:
        table: The table.
        reading: The reading.
        options: Options of the reading.
        more: See `Tried`.
    """
    try:
        found = Tried(more or {}, reading, carried_out(table, reading, options), options)
        if found.visits.lacks:
            return DataError(f"{table.name}: {found.visits.lacks}")
        return found if found.shares.size else DataError(f"{table.name}: has no device")
    except DataError as error:
        return error


def said_of(given: Given, each: Tried) -> str:
    """Returns the flag that a reading needs, and its outcome."""
    return f"{given.flag(each.more)} ({each.outcome})"


def with_parts(reading: Reading, more: Mapping[str, Any]) -> Reading:
    """Returns a reading with further parts: columns, and words as in `on=idle/full`."""
    words = dict(reading.words)
    for part in ("on", "off"):
        for word in str(more.get(part, "")).lower().split("/"):
            words[word.strip()] = part == "on"
    words.pop("", None)
    own = reading.own | {word for word in words if words[word] != reading.words.get(word)}
    columns = {part: column for part, column in more.items() if part not in ("on", "off", "ignore")}
    ignored = [more["ignore"]] if "ignore" in more else []
    taken = [*ignored, *columns.values()]
    left_out = {part: None for part in KNOWN if getattr(reading, part) in taken}
    if "duration" in more and reading.begins is not None:
        left_out["end"] = None
    words_and = {"words": words, "own": own, "ignored": (*reading.ignored, *ignored)}
    return replace(reading, **{**left_out, **columns, **words_and})


def distinct(found: Iterable[Tried | DataError]) -> list[Tried]:
    """Returns the readings that could be carried out, each outcome once."""
    kept: list[Tried] = []
    for each in found:
        if isinstance(each, Tried) and not any(each.is_as(other) for other in kept):
            kept.append(each)
    return kept
