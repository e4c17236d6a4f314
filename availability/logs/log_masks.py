"""Masks in tables: a row per round, a column per client, and perhaps a column of times."""

from __future__ import annotations

import itertools
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from f3ast_tff.availability.logs.device_traces import DAY
from f3ast_tff.availability.logs.local_times import ask_for_zone, in_utc, zones_of
from f3ast_tff.availability.logs.log_columns import KNOWN, Given
from f3ast_tff.availability.logs.log_states import (
    ANY_ANSWER,
    STATES,
    is_of_offline,
    known_states,
    turned,
)
from f3ast_tff.availability.logs.log_table import GAPS, LogTable, coded, row_of
from f3ast_tff.availability.logs.log_times import Times, looks_like_dates, read_times
from f3ast_tff.availability.logs.mask_files import PackedMasks
from f3ast_tff.availability.logs.time_units import duration_text, is_since_1970, unit_named
from f3ast_tff.core.client_names import client_names, listed
from f3ast_tff.core.errors import DataError, ParameterError
from f3ast_tff.core.frame_columns import is_number

_LOGGER = logging.getLogger(__name__)
# Names of a first column that counts the rounds or has their times.
CLOCKS = ("round", "hour", "index", "step", *KNOWN["time"], "")
_UNNAMED = re.compile(r"unnamed: \d+")
DATED = re.compile(r"\d{4}-\d\d-\d\d|\d\d?:\d\d(?::\d\d)?$")
_ROUND = re.compile(r"(?:r|t|h|d|round|step|hour|day|epoch|iteration)?[-_ ]?\d+")
# Rounds in which equal columns are no chance.
_MANY_ROUNDS = 48


@dataclass(frozen=True)
class Clock:
    """Times of the rounds of masks.

    Attributes:
        round_seconds: Length of a round, seconds.
        first: Time of the first round, seconds.
        times: The times of all rounds.
    """

    round_seconds: int
    first: float
    times: Times


def masks_of_frame(
    table: LogTable, given: Given, unit: str = ""
) -> tuple[PackedMasks, tuple[str, ...], Clock | None]:
    """Returns the masks of a table, the clients' names, and the rounds' times if there are any.

    Args:
        table: The table, of zeros and ones, booleans or words; a gap is no answer, and counts as
            offline.
        given: The column of the times, else the first column's content decides; words for states.
        unit: See `read_times`.

    Raises:
        DataError: If an entry is no state, or the rows are not evenly spaced in time.
    """
    frame, name = table.frame, table.name
    clock = _clock_of_index(frame, name, unit)
    column = _clock_column(frame, given)
    if column is not None:
        labels = frame.iloc[:, column]
        frame = frame.iloc[:, [k for k in range(frame.shape[1]) if k != column]]
        refuse_a_row_per_client(labels, frame.columns, name)
        clock = clock_of(_in_zone(labels, table, given.zone), name, unit)
    clients = client_names([str(each) for each in frame.columns])
    if len(set(clients)) < len(clients):
        counts = np.unique(clients, return_counts=True)
        raise DataError(f"{name}: two columns have the name {str(counts[0][counts[1] > 1][0])!r}")
    dated = sum(bool(DATED.match(client)) for client in clients[:10])
    if dated > 1 and dated == len(clients[:10]):
        allowed = "must have a row per round and a column per client"
        raise DataError(f"{name}: its columns are times, such as {clients[0]}: {allowed}")
    turns = yes_is_offline(clients, given)
    states = _states(frame, name, turned(given.words, given.own) if turns else given.words)
    if not turns and turned(given.words, given.own) is not given.words:
        _refuse_some_of_offline(frame, name)
    _say_odd(states, clients, name)
    if clock is not None and clock.round_seconds > DAY:
        _LOGGER.warning(
            "%s: a row every %s; if the times have another unit, give --time_unit",
            name,
            duration_text(clock.round_seconds),
        )
    packed = PackedMasks(np.packbits(states, axis=1), (states.shape[0], states.shape[1]))
    return packed, tuple(clients), clock


def refuse_a_row_per_client(labels: Any, columns: Any, name: str) -> None:
    """Raises `DataError` if rows have names, and columns the numbers of rounds."""
    rows = [str(label).strip() for label in labels]
    if looks_like_dates(labels) or any(is_number(each) for each in rows) or not len(rows):
        return
    of_rounds = [_ROUND.fullmatch(str(each).strip().lower()) for each in columns]
    if all(of_rounds) and not all(_ROUND.fullmatch(each.lower()) for each in rows):
        said = f"a row per client, such as {rows[0]!r}, and a column per round"
        turn = "table.set_index(table.columns[0]).T.to_csv('masks.csv', index_label='round')"
        raise DataError(f"{name}: {said}: must be turned, in pandas: {turn}")


def yes_is_offline(columns: Sequence[Any], given: Given) -> bool:
    """Returns whether the names of all columns say that yes is offline, and the user does not."""
    turns = turned(given.words, given.own) is not given.words
    return turns and bool(columns) and all(map(is_of_offline, columns))


def _refuse_some_of_offline(frame: Any, name: str) -> None:
    """Raises `DataError` if yes is offline by the names of some columns, not of the others."""
    columns = [column for column in frame.columns if is_of_offline(column)]
    # Not only words such as `up`.
    if any(not ANY_ANSWER.isdisjoint(coded(frame[c], str(c)).words) for c in columns):
        has = "column {} says by its name" if len(columns) == 1 else "columns {} say by their names"
        raise DataError(
            f"{name}: {has.format(listed(columns))} that yes is offline, and the others do not: "
            "name all alike, or say that yes is online in all of them by --columns=on=1,off=0 (of "
            "a run --table_columns)"
        )


def refuse_words_of_masks(table: LogTable, given: Given, unit: str = "") -> None:
    """Raises `DataError` on masks with words of unknown meaning, the same in most columns.

    Args:
        table: A table that could not be read as masks.
        given: See `masks_of_frame`.
        unit: See `masks_of_frame`.
    """
    place = _clock_column(table.frame, given)
    columns = [c for k, c in enumerate(table.frame.columns) if k != place]
    if len(columns) < 2 or len({*columns}) < len(columns):
        return
    try:
        found = [table.coded(column) for column in columns]
    except DataError:
        return
    words = [{w for w in each.words if w not in GAPS} for each in found]
    every = max(words, key=len)
    unknown = sorted(every - given.words.keys())
    if len(every) != 2 or not unknown or not all(each and each <= every for each in words):
        return
    ways = [{"on": on, "off": off} for on, off in itertools.permutations(sorted(every))]
    if any(char in word for word in every for char in ",=/"):
        return
    shown = []
    for way in ways:
        masks = masks_of_frame(table, given.and_also(way), unit)[0]
        outcome = f"{masks.shape[1]} clients, {masks.mean().mean():.1%} online"
        shown.append(f"{given.flag(way)} ({outcome})")
    raise DataError(
        f"{table.name}: a table with a column per client has {listed(unknown)}: say what they "
        f"mean, by {' or '.join(sorted(shown))} (of a run --table_columns)"
    )


def in_longer_rounds(
    masks: PackedMasks, clock: Clock, round_seconds: int
) -> tuple[PackedMasks, Clock]:
    """Returns masks in longer rounds: of each its first row, as a log is read, and their clock.

    Rounds begin at the first row that begins a whole number of rounds, if any, else at the first.

    Args:
        masks: Available clients by row.
        clock: Times of the rows.
        round_seconds: Length of a round.

    Raises:
        ParameterError: If it is not a whole number of rows.
    """
    many, rest = divmod(round_seconds, clock.round_seconds)
    if rest or not many:
        allowed = f"must be {clock.round_seconds}, the time from row to row, or a multiple of it"
        raise ParameterError("table_round_seconds", round_seconds, allowed)
    wait = -clock.first % round_seconds / clock.round_seconds
    first = int(wait) if wait == int(wait) and wait < masks.shape[0] else 0
    bits = masks.bits[first::many]
    at = clock.first + first * clock.round_seconds
    longer = Clock(round_seconds, at, clock.times)
    return PackedMasks(bits, (len(bits), masks.shape[1])), longer


def clock_of(column: Any, name: str, unit: str = "") -> Clock | None:
    """Returns the clock of the rows of masks; `None` if the column counts the rounds.

    Args:
        column: Number or time of each row.
        name: Name in messages.
        unit: See `read_times`.

    Raises:
        DataError: If the rows are not evenly spaced, in the order of time: they would be other
            rounds.
    """
    import pandas as pd

    dates = looks_like_dates(column)
    counts = np.full(len(column), np.nan)
    if not dates:
        # Words that are no numbers, such as names of rounds, are allowed.
        counts = pd.to_numeric(column, errors="coerce").to_numpy(float, na_value=np.nan)
    steps = np.diff(counts)
    named = str(column.name).strip().lower() in KNOWN["time"]
    absolute = not dates and not np.isnan(counts).any() and is_since_1970(column)
    if not dates and not absolute and (steps == 1).all() and not unit:
        return None
    spacing, wrong, clock = 1.0, np.flatnonzero(np.isfinite(steps) & (steps != 1)), None
    in_unit = bool(unit_named(column.name)) and str(column.name).strip().lower() not in CLOCKS
    if dates or absolute or named or unit or in_unit:
        times = read_times([column], name, unit)
        seconds = times.seconds[0]
        if len(seconds) < 2:
            return None
        steps = np.diff(seconds)
        spacing = max(1.0, round(float(np.median(steps))))
        wrong = np.flatnonzero(steps != spacing)
        clock = Clock(int(spacing), float(seconds[0]), times)
    if len(wrong):
        row = row_of(column, int(wrong[0]) + 1)
        allowed = "must be the row before plus 1"
        if clock is not None:
            found = steps[wrong[0]]
            allowed = f"must be the row before plus {spacing:g} s, and is {found:g} s later"
            allowed += f"; {len(wrong)} of {len(steps)} rows are not" if len(wrong) > 1 else ""
            if 2 * len(wrong) > len(steps):
                turn = f"table.melt({column.name!r}, var_name='device', value_name='online')"
                allowed += f": if it is of changes, give a row per client and change: {turn}"
        raise DataError(f"{name}: column {column.name!r}, {row}: {allowed}")
    return clock


def _in_zone(column: Any, table: LogTable, zone: str) -> Any:
    """Local dates in UTC; asks for their zone if some come again, as no rows of masks do."""
    import pandas as pd

    if not looks_like_dates(column):
        return column
    read = read_times([column], table.name)
    seconds, place = read.seconds[0], np.zeros(len(column), np.int64)
    if not read.local:
        return column
    if zone:
        found, _ = in_utc(seconds, zone, place, table, column.name, once_each=True)
        utc = pd.to_datetime(pd.Series(found, column.index), unit="s", utc=True)
        return utc.rename(column.name)
    back = np.flatnonzero(np.diff(seconds) <= 0) + 1
    usual = np.median(np.diff(seconds)) if len(seconds) > 1 else 0
    if len(back) == 1 and usual > 0 and zones_of(seconds[back]):
        row = int(back[0])
        raise DataError(
            f"{table.entry(column.name, row)}: comes again: {ask_for_zone(seconds[back])}"
        )
    return column


def _clock_column(frame: Any, given: Given) -> int | None:
    """Place of the column of rounds or times: the one given, the first, or the one of dates."""
    if given.columns:
        names = [str(column).strip() for column in frame.columns]
        if list(given.columns) != ["time"] or given.columns["time"] not in names:
            allowed = f"of masks must be time=NAME, one of {listed(names)}"
            raise ParameterError("table_columns", given.text, allowed)
        return names.index(given.columns["time"])
    if frame.shape[1] < 2:
        return None
    first = frame.iloc[:, 0]
    label = str(first.name).strip().lower()
    if label in CLOCKS or _UNNAMED.fullmatch(label) or looks_like_dates(first):
        return 0
    # A state in the first row tells most of many columns.
    row = [str(value).strip().lower() for value in frame.iloc[0].tolist()]
    likely = [
        k
        for k in range(1, frame.shape[1])
        if row[k] not in STATES or str(frame.columns[k]).strip().lower() in KNOWN["time"]
    ]
    dated = [k for k in likely if _is_clock(frame.iloc[:, k])]
    if len(dated) == 1:
        return dated[0]
    if first.dtype.kind == "b":
        return None
    words = first.astype(str).str.strip().str.lower().fillna("nan")
    if words.iloc[-1] in STATES or not words.map(is_number).all():
        return None
    rises = bool((np.diff(words.astype(float)) > 0).all())
    others = int((~words.isin([*STATES, *GAPS])).sum())
    return 0 if rises or 2 * others > len(words) else None


def _is_clock(column: Any) -> bool:
    """Whether a column beyond the first has times: dates, or a name and numbers of times."""
    if column.dtype.kind == "b":
        return False
    if looks_like_dates(column):
        return True
    named = str(column.name).strip().lower() in KNOWN["time"]
    return named and column.dtype.kind in "iuf" and bool((np.diff(column.astype(float)) > 0).all())


def numbers_rows(index: Any) -> bool:
    """Returns whether an index numbers rows or lines; evenly spaced times can be a range, too."""
    import pandas as pd

    counts = isinstance(index, pd.RangeIndex) and index.start in (0, 1) and index.step == 1
    return counts or index.name == "line"


def _clock_of_index(frame: Any, name: str, unit: str) -> Clock | None:
    """The clock of a frame's index of dates; `None` for another index."""
    import pandas as pd

    index = frame.index
    if numbers_rows(index):
        return None
    if isinstance(index, pd.MultiIndex):
        levels = [pd.Series(index.get_level_values(k)) for k in range(index.nlevels)]
        dated = [each for each in levels if looks_like_dates(each)]
        if not dated:
            return None
        index = pd.Index(dated[0], name="index")
    column = pd.Series(index, name="index")
    if looks_like_dates(column) or (column.dtype.kind in "iuf" and is_since_1970(column)):
        return clock_of(column, name, unit)
    return None


def _states(frame: Any, name: str, states: Mapping[str, bool]) -> np.ndarray:
    """The table as booleans, `bool [T, N]`."""
    if 0 in frame.shape:
        raise DataError(f"{name}: has shape {frame.shape}, must be [rounds, clients], neither 0")
    if all(dtype.kind == "b" and isinstance(dtype, np.dtype) for dtype in frame.dtypes):
        answers = frame.to_numpy(bool)
        as_is = states["true"] and not states["false"]
        return np.asarray(answers if as_is else np.where(answers, states["true"], states["false"]))
    cells = frame.to_numpy(object)
    found = coded(cells.ravel(), name)
    known = known_states(found, {**dict.fromkeys(GAPS, False), **states})
    places = found.of_rows([state is None for state in known], False).reshape(cells.shape)
    if places.any():
        k = int(np.argmax(places.any(axis=0)))
        column = frame.iloc[:, k]
        row = int(np.argmax(places[:, k]))
        said = repr(str(column.iloc[row])[:80])
        allowed = (
            "must be 0 or 1, true or false, online or offline in a table with a column per client; "
            "of a log, name the columns: --columns=device=NAME,time=NAME,state=NAME"
        )
        raise DataError(
            f"{name}: column {column.name!r}, {row_of(column, row)} is {said}: {allowed}"
        )
    gaps = int((~found.filled).sum())
    if 2 * gaps > cells.size and not states.keys() & GAPS:
        allowed = "is it a table of changes? Give events, a row per change; or say that they are "
        allowed += "offline by --columns=off=null (of a run --table_columns)"
        raise DataError(f"{name}: {gaps} of {cells.size} entries are empty: {allowed}")
    if gaps and not states.keys() & GAPS:
        text = "%s: %d of %d entries are empty: no answer, which counts as offline"
        _LOGGER.warning(text, name, gaps, cells.size)
    return np.asarray(found.of_rows([state is True for state in known], False).reshape(cells.shape))


def _say_odd(table: np.ndarray, clients: list[str], name: str) -> None:
    """Warns of clients that are never off, and of columns that repeat others."""
    rounds, n = table.shape
    if rounds < _MANY_ROUNDS:
        return
    share = table.mean(axis=0)
    if 0 < (always := int((share == 1).sum())) < n:
        first = clients[int(np.argmax(share == 1))]
        text = (
            "%s: %d of %d clients are never off, such as %s; leave out columns that are no client"
        )
        _LOGGER.warning(text, name, always, n, first)
    changing = np.flatnonzero((share > 0) & (share < 1))
    weights = np.random.default_rng(0).integers(2**63, size=(rounds,), dtype=np.uint64)
    sums = np.zeros(len(changing), np.uint64)
    for place, row in enumerate(table):
        sums += row[changing] * weights[place]
    _, first_of, counts = np.unique(sums, return_index=True, return_counts=True)
    if again := int((counts - 1).sum()):
        column = clients[int(changing[first_of[int(np.argmax(counts > 1))]])]
        text = "%s: %d of %d columns repeat another, such as %s; leave out all but one of a client"
        _LOGGER.warning(text, name, again, n, column)
