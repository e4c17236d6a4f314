"""What a column may be, by its content: states, codes, times, names of devices."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from f3ast_tff.availability.logs.log_columns import Reading
from f3ast_tff.availability.logs.log_states import known_states, name_words
from f3ast_tff.availability.logs.log_table import GAPS, LogTable
from f3ast_tff.availability.logs.time_units import is_since_1970
from f3ast_tff.core.errors import DataError

# Most distinct values of a column of codes, and least share of its rows that have one.
_FEW, _FILLED = 6, 0.95
# Parts of the names of columns whose numbers are codes, however large: `EventID`.
_CODES = frozenset({"code", "id", "event"})
_BEFORE = frozenset({"previous", "prev", "old"})
# Days, also in forms that are not read as times.
_DAY = re.compile(
    r"[0-9]{1,4}([./-])[0-9][0-9]?\1[0-9]{2,4}(?![.0-9])|[0-9]{8}T[0-9]|"
    r"(?:[A-Z][a-z]{2,8},? +)?(?:[0-9][0-9]?[ -][A-Za-z]{3,9}[ -][0-9]{2}|"
    r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* +[0-9])"
)
_LONGEST_TIME = 64
_SAMPLE = 1000


def is_readable(table: LogTable, column: Any) -> bool:
    """Whether a column has a name, and values that are no lists or objects."""
    name = str(column).strip().lower()
    if not name or name.startswith("unnamed:"):
        return False
    try:
        table.coded(column)
    except DataError:
        return False
    return True


def left(table: LogTable, reading: Reading, most: int | None = None) -> list[Any]:
    """Returns the readable columns neither used nor ignored, nor of a state before, of `most`."""
    columns = [c for c in reading.unused(table.frame) if c not in reading.ignored]
    return [c for c in columns[:most] if is_readable(table, c) and not name_words(c) & _BEFORE]


def values_of(table: LogTable, column: Any) -> list[str]:
    """Returns the distinct texts of a column, without gaps."""
    found = table.coded(column)
    return [found.texts[k] for k in np.unique(found.codes[found.filled]).tolist()]


def words_in(table: LogTable, column: Any) -> set[str]:
    """Returns the distinct words of a column in lower case, without gaps."""
    found = table.coded(column)
    return {found.words[k] for k in np.unique(found.codes[found.filled]).tolist()}


def is_filled(table: LogTable, column: Any) -> bool:
    """Whether nearly all rows of a column have a value."""
    return bool(table.coded(column).filled.mean() >= _FILLED)


def is_of_states(table: LogTable, column: Any, words: Mapping[str, bool]) -> bool:
    """Whether a column holds words of both states, and no others, in nearly all rows."""
    found = table.coded(column)
    if len(found.values) > len(words) or not is_filled(table, column):
        return False
    pairs = zip(known_states(found, words), found.words)
    known = [state for state, word in pairs if word not in GAPS]
    return None not in known and {*known} == {True, False}


def is_of_codes(table: LogTable, column: Any) -> bool:
    """Whether a column holds one of few texts or whole numbers, which are small or named codes."""
    found = table.coded(column)
    few = len(found.values) <= _FEW + 1 and is_filled(table, column)
    if not few or is_of_times(table, column):
        return False
    values = values_of(table, column)
    numbers = found.numbers[np.isfinite(found.numbers)]
    least = np.inf if name_words(column) & _CODES else _FEW
    code = (numbers == np.rint(numbers)) & (np.abs(numbers) < least)
    return 2 <= len(values) <= _FEW and bool(code.all()) and len(values) < len(table)


def is_flag(table: LogTable, column: Any) -> bool:
    """Whether a column has one value, such as `x`, and none in other rows."""
    return len(values_of(table, column)) == 1 and not is_filled(table, column)


def is_of_times(table: LogTable, column: Any) -> bool:
    """Whether a column most likely holds times."""
    if table.frame[column].dtype.kind in "Mm":
        return True
    if table.frame[column].dtype.kind == "b":
        return False
    values = values_of(table, column)[:_SAMPLE]
    if not values:
        return False
    days = sum(len(text) <= _LONGEST_TIME and bool(_DAY.match(text)) for text in values)
    return 2 * days > len(values) or is_since_1970(values)


def rises(table: LogTable, column: Any) -> bool:
    """Whether a column holds numbers that never fall from row to row."""
    found = table.coded(column)
    return bool((np.diff(found.of_rows(found.numbers, np.nan)) >= 0).all())


def is_of_device(table: LogTable, column: Any, place: np.ndarray) -> bool:
    """Whether each device has one value of a column in all of its rows."""
    codes = table.coded(column).codes
    pairs = place.astype(np.int64) * (codes.max() + 2) + codes + 1
    return len(np.unique(pairs)) == len(np.unique(place))
