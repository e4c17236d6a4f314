"""Reads CIFAR batches without `pickle`: in a file, a pickle is a program."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np

# Far more than the distributor's files need: a file must not fill memory with tiny objects.
_OPCODES = 10_000
_BYTES_AN_OPCODE = 256
_LONGEST_NAME = 100


class _Known(Enum):
    """The functions and types that the files name; they stand for themselves, none is called."""

    RECONSTRUCT = "_reconstruct"
    NDARRAY = "ndarray"
    DTYPE = "dtype"
    ENCODE = "encode"
    UINT8 = "uint8"


_GLOBALS = {
    ("numpy.core.multiarray", "_reconstruct"): _Known.RECONSTRUCT,
    ("numpy._core.multiarray", "_reconstruct"): _Known.RECONSTRUCT,
    ("numpy", "ndarray"): _Known.NDARRAY,
    ("numpy", "dtype"): _Known.DTYPE,
    ("_codecs", "encode"): _Known.ENCODE,
}
# Version, byte order, fields (none of them), size and alignment by the name, flags.
_UINT8_STATE = (3, "|", None, None, None, -1, -1, 0)


class _Array:
    """Stands for an array until its content is known."""

    def __init__(self) -> None:
        self.value: np.ndarray | None = None


def load_batch(content: bytes) -> dict[str, Any]:
    """Returns the dictionary that a CIFAR batch holds.

    Opcodes are those that Python 2's protocol 2 and Python 3's protocols 2 to 4 write of
    dictionaries, lists, tuples, strings, small integers and arrays of `uint8`; all others are
    refused.

    Args:
        content: The file's bytes: a pickle of a dictionary, of Python 2 or 3.

    Returns:
        The dictionary, its keys as `str`; other strings of Python 2 are `bytes`. Arrays are
        read-only `uint8`.

    Raises:
        ValueError: If it is damaged, or holds anything else.
    """
    try:
        found = _Reader(content).run()
    except (IndexError, KeyError, TypeError, ValueError, struct.error) as error:
        raise ValueError(f"it cannot be unpickled ({error})") from error
    if not isinstance(found, dict):
        raise ValueError("it does not hold a dictionary")
    batch = {k.decode("latin1") if isinstance(k, bytes) else k: v for k, v in found.items()}
    return {k: v.value if isinstance(v, _Array) else v for k, v in batch.items()}


class _Reader:
    """A machine of one stack, as `pickletools` describes it, with few opcodes."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._place = 0
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}

    def run(self) -> Any:
        """Returns the value that the file holds."""
        for _ in range(_OPCODES + len(self._content) // _BYTES_AN_OPCODE):
            code = self._take(1)
            if code == b".":
                return self._stack.pop()
            action = _ACTIONS.get(code)
            if action is None:
                raise ValueError(f"it has the opcode {code!r}")
            action(self)
        raise ValueError("it has too many opcodes")

    def _take(self, size: int) -> bytes:
        found = self._content[self._place : self._place + size]
        if len(found) < size:
            raise ValueError("it is cut short")
        self._place += size
        return found

    def _number(self, form: str) -> int:
        (number,) = struct.unpack(form, self._take(struct.calcsize(form)))
        return int(number)

    def _push(self, value: Any) -> None:
        self._stack.append(value)

    def _string(self, form: str, text: bool = False) -> None:
        size = self._number(form)
        if size < 0:
            raise ValueError("it has a string of negative length")
        raw = self._take(size)
        self._push(raw.decode() if text else raw)

    def _tuple(self, size: int) -> None:
        parts = [self._stack.pop() for _ in range(size)]
        self._push(tuple(reversed(parts)))

    def _marked(self) -> list[Any]:
        mark = self._marks.pop()
        found = self._stack[mark:]
        del self._stack[mark:]
        return found

    def _append(self, values: list[Any]) -> None:
        if not isinstance(self._stack[-1], list):
            raise ValueError("it appends to something else than a list")
        self._stack[-1].extend(values)

    def _set(self, items: list[Any]) -> None:
        keys, values = items[::2], items[1::2]
        if not isinstance(self._stack[-1], dict) or len(keys) != len(values):
            raise ValueError("it sets items of something else than a dictionary")
        if not all(isinstance(key, (bytes, str)) for key in keys):
            raise ValueError("it has a key that is no string")
        self._stack[-1].update(zip(keys, values))

    def _line(self) -> str:
        end = self._content.find(b"\n", self._place, self._place + _LONGEST_NAME)
        line = self._take(end - self._place if end >= 0 else len(self._content))
        self._take(1)
        return line.decode("ascii")

    def _name(self, module: Any, name: Any) -> None:
        known = _GLOBALS.get((module, name))
        if known is None:
            asked = f"{module}.{name}"
            raise ValueError(f"it asks for {asked if asked.isprintable() else 'something else'}")
        self._push(known)

    def _stacked_name(self) -> None:
        name, module = self._stack.pop(), self._stack.pop()
        if not isinstance(module, str) or not isinstance(name, str):
            raise ValueError("it asks for a name that is no text")
        self._name(module, name)

    def _reduce(self) -> None:
        arguments, function = self._stack.pop(), self._stack.pop()
        first = arguments[0]
        if function is _Known.RECONSTRUCT and first is _Known.NDARRAY:
            self._push(_Array())
        elif function is _Known.DTYPE:
            if first not in (b"u1", "u1"):
                raise ValueError("its data are not 8-bit pixels")
            self._push(_Known.UINT8)
        elif function is _Known.ENCODE:
            # Protocol 2 of Python 3 writes bytes like this.
            encoding = arguments[1]
            if not isinstance(encoding, str) or not isinstance(first, str):
                raise ValueError("it encodes something else than a text")
            if encoding != "latin1":
                raise ValueError(f"it asks for the encoding {encoding[:20]!r}")
            self._push(first.encode("latin1"))
        else:
            raise ValueError("it calls something else than the maker of an array")

    def _build(self) -> None:
        state, built = self._stack.pop(), self._stack[-1]
        if built is _Known.UINT8:
            order = state[1].decode() if isinstance(state[1], bytes) else state[1]
            if (state[0], order, *state[2:]) != _UINT8_STATE:
                raise ValueError("its data are not 8-bit pixels")
        elif isinstance(built, _Array) and built.value is None:
            built.value = _array(*state)
        else:
            raise ValueError("it changes something else than a new array")


def _array(version: Any, shape: Any, dtype: Any, fortran: Any, raw: Any) -> np.ndarray:
    if version != 1 or dtype is not _Known.UINT8 or fortran is not False:
        raise ValueError("its array is of another form")
    if not isinstance(raw, bytes) or not isinstance(shape, tuple) or len(shape) not in (1, 2):
        raise ValueError("its array is of another form")
    if not all(type(size) is int and size >= 0 for size in shape) or math.prod(shape) != len(raw):
        raise ValueError(f"its array of {len(raw)} bytes has another shape")
    return np.frombuffer(raw, np.uint8).reshape(shape)


_ACTIONS: dict[bytes, Callable[[_Reader], object]] = {
    b"\x80": lambda r: r._number("<B"),  # The protocol's version.
    b"\x95": lambda r: r._take(8),  # A frame's length.
    b"(": lambda r: r._marks.append(len(r._stack)),
    b"}": lambda r: r._push({}),
    b"]": lambda r: r._push([]),
    b"N": lambda r: r._push(None),
    b"\x88": lambda r: r._push(True),
    b"\x89": lambda r: r._push(False),
    b"K": lambda r: r._push(r._number("<B")),
    b"M": lambda r: r._push(r._number("<H")),
    b"J": lambda r: r._push(r._number("<i")),
    b"U": lambda r: r._string("<B"),
    b"T": lambda r: r._string("<i"),
    b"C": lambda r: r._string("<B"),
    b"B": lambda r: r._string("<I"),
    b"X": lambda r: r._string("<I", text=True),
    b"\x8c": lambda r: r._string("<B", text=True),
    b"\x85": lambda r: r._tuple(1),
    b"\x86": lambda r: r._tuple(2),
    b"\x87": lambda r: r._tuple(3),
    b"t": lambda r: r._push(tuple(r._marked())),
    b"a": lambda r: r._append([r._stack.pop()]),
    b"e": lambda r: r._append(r._marked()),
    b"s": lambda r: r._set([r._stack.pop(), r._stack.pop()][::-1]),
    b"u": lambda r: r._set(r._marked()),
    b"c": lambda r: r._name(r._line(), r._line()),
    b"\x93": _Reader._stacked_name,
    b"R": _Reader._reduce,
    b"b": _Reader._build,
    b"q": lambda r: r._memo.update({r._number("<B"): r._stack[-1]}),
    b"r": lambda r: r._memo.update({r._number("<I"): r._stack[-1]}),
    b"\x94": lambda r: r._memo.update({len(r._memo): r._stack[-1]}),
    b"h": lambda r: r._push(r._memo[r._number("<B")]),
    b"j": lambda r: r._push(r._memo[r._number("<I")]),
}
