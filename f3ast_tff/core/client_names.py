"""The name of a client: the same in every file, whichever program wrote it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from f3ast_tff.core.errors import DataError

# Whole numbers that a program has written as floating-point numbers.
_WITH_POINT = re.compile(r"(0|-?[1-9][0-9]*)\.0+")
# A number of at most 18 digits, without leading zeros.
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_SHOWN, _LENGTH = 10, 40
_LONGEST = 1000


def client_name(value: Any) -> str:
    """Returns the name of a client id: 2, 2.0, "2" and "2.0" are one client, 1 and 01 are two.

    Examples:
        >>> from f3ast_tff.core.client_names import client_name
        >>> [client_name(each) for each in (2, 2.0, " 2.0", "02", "ann")]
        ['2', '2', '2', '02', 'ann']
    """
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    text = str(value).strip()
    found = _WITH_POINT.fullmatch(text)
    return found[1] if found else text


def client_names(values: Iterable[Any]) -> list[str]:
    """Returns `client_name` of each value, computed once per distinct value.

    Raises:
        DataError: If a name is longer than 1000 characters, as NumPy gives all the longest's size,
            or holds a NUL character, as NumPy drops it at the end, or half of a surrogate pair,
            which no file holds.
    """
    values = list(values)
    long = next((text for text in map(str, values) if len(text) > _LONGEST), None)
    if long is not None:
        text = f"{long[:20]!r}... has {len(long)} characters: must have at most {_LONGEST}"
        raise DataError(f"the name of a client, {text}")
    # By type too: True equals 1, and is another name.
    keys = [(value, type(value) is bool) for value in values]
    names = {key: client_name(key[0]) for key in dict.fromkeys(keys)}
    for name in names.values():
        if "\0" in name or not (name.isascii() or _is_whole(name)):
            what = "a NUL character" if "\0" in name else "half of a surrogate pair"
            raise DataError(f"the name of a client, {name[:20]!r}, holds {what}")
    return [names[key] for key in keys]


def _is_whole(name: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in name)


def numbers_if_all(names: Sequence[str]) -> np.ndarray:
    """Returns the names as `int64 [n]` if all are whole numbers, else as texts `[n]`.

    Clients are sorted by them: 9 before 10.
    """
    if are_numbers(names):
        return np.array(names, np.int64)
    return np.array(names, str)


def are_numbers(names: Iterable[str]) -> bool:
    """Returns whether all names are whole numbers that 64 bits hold."""
    return all(_INTEGER.fullmatch(name) for name in dict.fromkeys(names))


def listed(names: Iterable[Any]) -> str:
    """Returns names for a message, the first ten of many, each cut to 40 characters."""
    texts = [str(name) for name in names]
    shown = [text if len(text) <= _LENGTH else f"{text[:_LENGTH]}..." for text in texts[:_SHOWN]]
    rest = len(texts) - _SHOWN
    return ", ".join(shown) + (f" and {rest} more" if rest > 0 else "")
