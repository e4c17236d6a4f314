"""Readings of a table, carried out or tried on the whole table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from f3ast_tff.availability.logs.event_visits import visits_of_events
from f3ast_tff.availability.logs.log_columns import KNOWN, Given, Reading
from f3ast_tff.availability.logs.log_entries import Visits, entries_of
from f3ast_tff.availability.logs.log_rounds import shares_of
from f3ast_tff.availability.logs.log_table import LogTable
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
    words_and = {"words": words, "own": own, "ignored": (*reading.ignored, *ignored)}
    return replace(reading, **{**left_out, **columns, **words_and})


def distinct(found: Iterable[Tried | DataError]) -> list[Tried]:
    """Returns the readings that could be carried out, each outcome once."""
    kept: list[Tried] = []
    for each in found:
        if isinstance(each, Tried) and not any(each.is_as(other) for other in kept):
            kept.append(each)
    return kept
