"""Reads pickles as data: their opcodes are looked through before `pickle` follows them.

A pickle is a program. One of the opcodes below alone makes plain values; with `names` it may also
call what `names` has, and nothing else.
"""

from __future__ import annotations

import io
import pickle
import pickletools
from collections.abc import Mapping
from typing import Any

_TUPLES = frozenset({"EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"})
_VALUES = {"EMPTY_DICT", "EMPTY_LIST", "NONE", "NEWTRUE", "NEWFALSE", "BINFLOAT", *_TUPLES}
_NUMBERS = {"BININT", "BININT1", "BININT2", "LONG1"}
_STRINGS = {"BINSTRING", "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES"}
_TEXTS = {"BINUNICODE", "SHORT_BINUNICODE"}
_BUILT = {"PROTO", "FRAME", "MARK", "APPEND", "APPENDS", "SETITEM", "SETITEMS", "STOP"}
_PUT = frozenset({"BINPUT", "LONG_BINPUT"})
_GET = frozenset({"BINGET", "LONG_BINGET"})
_PLAIN = frozenset({*_VALUES, *_NUMBERS, *_STRINGS, *_TEXTS, *_BUILT, *_PUT, *_GET, "MEMOIZE"})
_CALLS = frozenset({"GLOBAL", "STACK_GLOBAL", "REDUCE", "BUILD"})
# The hash of a dictionary's key goes through all tuples in it, each time it meets them.
_MOST_TUPLES, _MOST_TUPLES_TWICE = 1000, 30


def load_plain(
    content: bytes, most_opcodes: int, names: Mapping[tuple[str, str], Any] | None = None
) -> Any:
    """Returns the value that a pickle holds; strings of Python 2 are bytes.

    Args:
        content: Bytes of a file.
        most_opcodes: Largest number of opcodes; it keeps tiny objects from filling memory.
        names: What stands for the names that the pickle may ask for, by module and name. What
            stands there is called by the pickle, and must bear any arguments and any state.

    Raises:
        ValueError: If it is damaged, or has too many opcodes or other opcodes.
    """
    try:
        _look_through(content, most_opcodes, _PLAIN if names is None else _PLAIN | _CALLS)
        return _Unpickler(content, names or {}).load()
    except _DAMAGED as error:
        raise ValueError(f"it cannot be unpickled ({error})") from error


_DAMAGED = (
    pickle.UnpicklingError,
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    TypeError,
    ValueError,
)


def _look_through(content: bytes, most_opcodes: int, allowed: frozenset[str]) -> None:
    """Refuses opcodes that are not allowed, and those that would fill memory or take for ever."""
    tuples: set[int] = set()
    memo, num_tuples, twice, last = 0, 0, 0, ""
    argument: Any
    for number, (opcode, argument, _) in enumerate(pickletools.genops(content), start=1):
        name = opcode.name
        if name not in allowed:
            raise ValueError(f"it has the opcode {opcode.code.encode('latin1')!r}")
        if number > most_opcodes:
            raise ValueError("it has too many opcodes")
        if name in _PUT or name == "MEMOIZE":
            place = memo if name == "MEMOIZE" else argument
            # `pickle` makes room for all places below the largest.
            if place > number:
                raise ValueError("its memo has gaps")
            if last in _TUPLES:
                tuples.add(place)
            memo += 1
        num_tuples += name in _TUPLES
        twice += name in _GET and argument in tuples
        if num_tuples > _MOST_TUPLES or twice > _MOST_TUPLES_TWICE:
            raise ValueError("it has too many tuples")
        last = name


class _Unpickler(pickle.Unpickler):
    def __init__(self, content: bytes, names: Mapping[tuple[str, str], Any]) -> None:
        super().__init__(io.BytesIO(content), encoding="bytes")
        self._names = names

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._names:
            asked = f"{module}.{name}"[:100]
            raise ValueError(f"it asks for {asked if asked.isprintable() else 'something else'}")
        return self._names[module, name]
