"""How a table is read: which column is which part of a log, by name or as given by the user."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from f3ast_tff.availability.logs.log_states import (
    STATES,
    is_of_offline,
    is_of_online,
    name_words,
    turned,
    words_of,
)
from f3ast_tff.availability.logs.log_table import LogTable
from f3ast_tff.availability.logs.time_units import unit_named
from f3ast_tff.core.client_names import are_numbers, client_names, listed
from f3ast_tff.core.errors import DataError, ParameterError
from f3ast_tff.core.frame_columns import refuse_rounded

# Names that are known for each part of a log, in the order of preference; case, blanks, hyphens and
# underscores within do not count.
KNOWN = {
    "device": (
        *("device", "device_id", "client", "client_id", "node", "node_id", "user", "user_id"),
        "entity_id",
    ),
    "time": ("time", "timestamp", "date", "datetime", "t", "last_changed"),
    "state": ("online", "available", "state", "status", "connected", "event_type"),
    "start": (
        *("start", "start_time", "begin", "from", "online_from", "connected_at", "login"),
        "started_at",
        "event_start_time",
    ),
    "end": (
        *("end", "end_time", "stop", "to", "until", "online_until", "disconnected_at", "logout"),
        *("event_stop_time", "event_end_time", "stop_time", "ended_at"),
    ),
    "duration": (
        *("duration", "dur", "duration_s", "duration_sec", "duration_seconds", "duration_ms"),
        *("duration_min", "duration_minutes", "duration_h", "duration_hours"),
    ),
    "session": ("session", "session_id", "session_identifier", "connection_id"),
    # Heartbeats, only if given: any time may be one.
    "seen": (),
}
# Given beside the columns: words of states, columns that decide nothing, the zone of the times, the
# length of the rounds into which masks are put, that rows are outages.
_WORDS, IGNORE, ZONE, ROUNDS, ROWS = ("on", "off"), "ignore", "zone", "round_seconds", "rows"
# Parts of the names of columns whose 0 may be success, or failure.
_CODES = frozenset({"code", "rc", "retcode", "result"})
_SAME = {"client": "device", "online": "state"}
_UNNAMED = re.compile(r"\s*(?:Unnamed: [0-9]+)?$")
_UNIT = re.compile(r"[_\s(\[-]+[A-Za-z]+[)\]]?$")
LOG_FORMS = "device,time,online or device,start,end"


@dataclass(frozen=True)
class Reading:
    """Which column is which part of a log; `None` for missing parts.

    Attributes:
        device: Column of devices.
        time: Times of events.
        state: States from then on; of spans, whether the device is online.
        start: Times at which spans begin.
        end: Times at which spans end.
        duration: Lengths of spans that begin at `start` or `time`.
        session: Session of each event.
        seen: Times at which a device was there, as of heartbeats.
        ignored: Columns that the user says decide nothing.
        words: Meaning of words of states, true for online.
        own: Words whose meaning is given.
        zone: Time zone of dates without one; empty for UTC.
        of_problems: Whether the names of all devices say that yes is offline.
        of_outages: Whether rows are times offline, and devices are online between them.
    """

    device: Any = None
    time: Any = None
    state: Any = None
    start: Any = None
    end: Any = None
    duration: Any = None
    session: Any = None
    seen: Any = None
    ignored: tuple[Any, ...] = ()
    words: Mapping[str, bool] = field(default_factory=lambda: STATES)
    own: frozenset[str] = frozenset()
    zone: str = ""
    of_problems: bool = False
    of_outages: bool = False

    @property
    def begins(self) -> Any:
        """Column of the times at which spans begin."""
        if self.seen is not None:
            return self.seen
        return self.time if self.start is None else self.start

    @property
    def meant(self) -> Mapping[str, bool]:
        """Meaning of words in the column of states; if it is named `offline`, yes is offline."""
        turns = self.of_problems or is_of_offline(self.state)
        return turned(self.words, self.own) if turns else self.words

    @property
    def of_spans(self) -> bool:
        """Whether rows are sightings, or spans: two of a begin, an end and a length."""
        return self.seen is not None or [self.begins, self.end, self.duration].count(None) < 2

    @property
    def of_events(self) -> bool:
        """Whether rows are events."""
        return not self.of_spans and self.time is not None and self.state is not None

    @property
    def used(self) -> dict[str, Any]:
        """The columns that decide, by part."""
        begin = "start" if self.start is not None else "time"
        if self.seen is not None:
            return {
                p: c for p in ("device", "seen", "state") if (c := getattr(self, p)) is not None
            }
        bounds = ("end", "duration") if self.begins is None or self.end is None else ("end",)
        bounds = bounds if self.of_spans else ("session",)
        found = {part: getattr(self, part) for part in ("device", begin, *bounds, "state")}
        return {part: column for part, column in found.items() if column is not None}

    def unused(self, frame: Any) -> list[Any]:
        """The frame's other columns."""
        used = {*self.used.values()}
        return [column for column in frame.columns if column not in used]

    def said(self, table: LogTable) -> str:
        """Returns the used and the unused columns, in words."""
        parts = []
        for part, column in self.used.items():
            words = words_of(table.coded(column), self.meant) if part == "state" else ""
            parts.append(f"{column}{words}" if part == column else f"{part} = {column}{words}")
        unused = [each for each in map(str, self.unused(table.frame)) if not _UNNAMED.match(each)]
        return f"by {', '.join(parts)}; not used: {listed(unused) or 'none'}"


@dataclass(frozen=True)
class Given:
    """The user's description of a log, `columns`, in parts.

    Attributes:
        text: The text, as given.
        columns: Column of each part, as written.
        ignored: Columns that decide nothing.
        words: Meaning of words of states: `STATES`, and the words given.
        own: Words whose meaning is given.
        zone: Time zone of dates without one.
        round_seconds: Length of the rounds into which masks are put; `None` for their own.
        of_outages: Whether rows are times offline, and devices are online between them.
    """

    text: str
    columns: Mapping[str, str]
    ignored: tuple[str, ...]
    words: Mapping[str, bool]
    own: frozenset[str]
    zone: str
    round_seconds: int | None = None
    of_outages: bool = False

    @classmethod
    def of(cls, text: str) -> Given:
        """Reads pairs such as `device=imei,time=ts,state=event,on=plugged,off=idle/full`.

        Raises:
            ParameterError: If a pair has no `=`, or names an unknown part.
        """
        pairs = _pairs(text)
        length = pairs.get(ROUNDS)
        if length is not None and not re.fullmatch("[1-9][0-9]{0,8}", length):
            allowed = f"{ROUNDS} must be a whole number of seconds, at least 1"
            raise ParameterError("table_columns", text, allowed)
        if pairs.get(ROWS, "offline") != "offline":
            raise ParameterError("table_columns", text, f"{ROWS} must be offline, if given")
        own = {part: pairs.get(part, "").lower().split("/") for part in _WORDS}
        words = {word.strip(): part == "on" for part, many in own.items() for word in many}
        return cls(
            text,
            columns={part: column for part, column in pairs.items() if part in KNOWN},
            ignored=tuple(filter(None, map(str.strip, pairs.get(IGNORE, "").split("/")))),
            words={**STATES, **{word: is_on for word, is_on in words.items() if word}},
            own=frozenset(filter(None, words)),
            zone=pairs.get(ZONE, ""),
            round_seconds=None if length is None else int(length),
            of_outages=ROWS in pairs,
        )

    @property
    def names_log(self) -> bool:
        """Whether the text gives a column that masks lack, or says that rows are outages."""
        return self.of_outages or bool(self.columns.keys() - {"time"})

    @property
    def names_columns(self) -> bool:
        """Whether more than a length of rounds is given: then a file's first line has names."""
        return bool(_pairs(self.text).keys() - {ROUNDS})

    def flag(self, more: Mapping[str, Any]) -> str:
        """Returns the flag that gives further pairs, as one types it."""
        return shlex.quote(f"--columns={self._text(more)}")

    def and_also(self, more: Mapping[str, Any]) -> Given:
        """Returns the description with further pairs, as `flag` types it."""
        return Given.of(self._text(more))

    def _text(self, more: Mapping[str, Any]) -> str:
        pairs = joined(_pairs(self.text), more)
        return ",".join(f"{part}={value}" for part, value in pairs.items())


def joined(given: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the pairs of both; `given` wins, except that words and ignored columns join."""
    pairs = {**more, **given}
    for part in (*_WORDS, IGNORE):
        if part in more and part in given:
            pairs[part] = f"{given[part]}/{more[part]}"
    return pairs


def plain_name(column: Any) -> str:
    """Returns a column's name for comparison: in lower case, without separators within."""
    name = str(column).strip().lower()
    return name[:1] + "".join(c for c in name[1:] if c not in "_- ")


_PLAIN = {part: [plain_name(name) for name in names] for part, names in KNOWN.items()}


HOME_ASSISTANT = "Home Assistant's history"
FAILURE_TRACES = "the Failure Trace Archive's event_trace"
# Forms of known systems: the columns that tell them, by part.
_FORMS = {
    "AWS IoT's life-cycle events": {
        **{"device": "clientid", "time": "timestamp", "state": "eventtype"},
        "session": "sessionidentifier",
    },
    HOME_ASSISTANT: {"device": "entityid", "time": "lastchanged", "state": "state"},
    "RADIUS's accounting": {
        **{"device": "username", "start": "acctstarttime", "end": "acctstoptime"}
    },
    FAILURE_TRACES: {
        **{"device": "nodeid", "start": "eventstarttime", "end": "eventstoptime"},
        "state": "eventtype",
    },
}


def with_form(table: LogTable) -> LogTable:
    """Returns a table with the parts of its columns, if it is of a known system."""
    names = {plain_name(column): column for column in reversed(list(table.frame.columns))}
    for form, parts in _FORMS.items():
        if not table.form and names.keys() >= {*parts.values()}:
            roles = {part: names[name] for part, name in parts.items()}
            return replace(table, roles=roles, form=form)
    return table


def reading_of(table: LogTable, given: Given) -> Reading:
    """Finds the columns of a table: as given, else by the file's form, else by name.

    If several columns have known names of states, the first whose words are all known is taken.

    Raises:
        ParameterError: If a column is given that the table lacks.
    """
    frame = table.frame
    exact = {str(column).strip().lower(): column for column in frame.columns}
    names = {plain_name(column): column for column in reversed(list(frame.columns))}
    # Names with a unit, such as `start_min`.
    in_units = {
        plain_name(_UNIT.sub("", str(c).strip())): c
        for c in reversed([*names.values()])
        if unit_named(c)
    }
    found: dict[str, Any] = {}
    for part, known in _PLAIN.items():
        of_part = {**in_units, **names} if part in ("time", "start", "end") else names
        there = [of_part[each] for each in known if each in of_part]
        if part == "state":
            there.sort(key=lambda c: not given.words.keys() >= {*_words(table, c)})
        if part == "device":
            # A column with one value in all rows, such as `user`, comes last.
            there.sort(key=lambda c: len(_words(table, c)) < 2)
        found[part] = there[0] if there else None
    if table.roles:
        found = {**dict.fromkeys(_PLAIN), **table.roles}
    for part, column in given.columns.items():
        if column.lower() not in exact:
            allowed = f"must name columns of the log: {listed(frame.columns)}"
            raise ParameterError("table_columns", given.text, allowed)
        found[part] = exact[column.lower()]
    for part in found.keys() - given.columns.keys():
        if found[part] is not None and found[part] in [found[own] for own in given.columns]:
            found[part] = None
    begins = found["time"] if found["start"] is None else found["start"]
    if "duration" in given.columns and "end" not in given.columns and begins is not None:
        found["end"] = None
    ignored = [exact.get(each.lower()) for each in given.ignored]
    if None in ignored:
        allowed = f"ignore must name columns of the log: {listed(frame.columns)}"
        raise ParameterError("table_columns", given.text, allowed)
    for part, column in found.items():
        if column in ignored and part not in given.columns:
            found[part] = None
    names_of = [] if found["device"] is None else table.coded(found["device"]).texts
    return Reading(
        **found,
        ignored=tuple(ignored),
        words=_words_known(table, given, found["state"]),
        own=given.own,
        zone=given.zone,
        of_problems=bool(names_of) and all(map(is_of_offline, names_of)),
        of_outages=given.of_outages,
    )


def _words_known(table: LogTable, given: Given, state: Any) -> Mapping[str, bool]:
    """Meaning of words, without 0 and 1 where 0 may be up: Nagios' states, and some codes."""
    columns = list(table.frame.columns)
    words = frozenset().union(*map(name_words, columns))
    of_monitor = {"host", "service", "hostname"} & words and {"state", "status"} & words
    codes = [c for c in (columns if state is None else [state]) if name_words(c) & _CODES]
    of_code = not all(map(is_of_offline, codes))
    # So does a text of all rows: `agent is not available`. Wide tables are masks.
    texts = [_words(table, column) for column in columns[:50]]
    of_code |= any(len(each) == 1 and is_of_offline(each[0]) for each in texts)
    if not (of_monitor or of_code) or table.roles or given.own or any(map(is_of_online, columns)):
        return given.words
    return {word: is_on for word, is_on in given.words.items() if word not in ("0", "1")}


def _words(table: LogTable, column: Any) -> Sequence[str]:
    """The distinct words of a column; two empty ones if it holds lists or objects."""
    try:
        return table.coded(column).words
    except DataError:
        return ("", "")


def _pairs(given: str) -> dict[str, str]:
    found = {}
    # A comma that no pair follows is part of a column's name.
    for pair in filter(None, map(str.strip, re.split(",(?=[^,]*=|$)", given))):
        part, equals, value = (each.strip() for each in pair.partition("="))
        part = _SAME.get(part, part)
        known = (*KNOWN, *_WORDS, IGNORE, ZONE, ROUNDS, ROWS)
        listed_words = part in _WORDS and "," in value
        if not equals or part not in known or not value or part in found or listed_words:
            allowed = "must be such as device=imei,time=ts,state=event,on=charging, of "
            raise ParameterError("table_columns", given, allowed + ", ".join(known))
        found[part] = value
    return found


def devices_of(table: LogTable, column: Any) -> tuple[tuple[str, ...], np.ndarray]:
    """Returns the names of the D devices, numbers sorted as numbers, and each row's device.

    Raises:
        DataError: If a row has no device; names it.
    """
    import pandas as pd

    found, what = table.coded(column), f"{table.name}: column {column!r}"
    values = table.frame[column].to_numpy()
    try:
        texts = ("string", "categorical", "empty")
        mixed = values.dtype.kind == "O" and pd.api.types.infer_dtype(values) not in texts
        if values.dtype.kind == "f" or mixed:
            refuse_rounded(values, what)
        names = client_names(found.values)
    except ValueError as error:
        raise DataError(str(error)) from error
    except DataError as error:
        raise DataError(f"{what}: {error}") from error
    empty = found.of_rows([not each for each in names], True)
    if empty.any():
        raise DataError(f"{what}, {table.row(int(np.argmax(empty)))}: has no device")
    if are_numbers(names):
        numbers, place = np.unique(np.array(names, np.int64), return_inverse=True)
        return tuple(map(str, numbers.tolist())), place[found.codes]
    # Python's texts: NumPy would give all names the length of the longest.
    ordered = sorted({*names})
    places = {name: k for k, name in enumerate(ordered)}
    return tuple(ordered), np.array([places[name] for name in names], np.int64)[found.codes]
