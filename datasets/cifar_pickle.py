"""Reads CIFAR batches without `pickle`, because a pickle is a program that could do anything."""

from __future__ import annotations

import math
from enum import Enum
from types import MappingProxyType
from typing import Any

import numpy as np

from f3ast_tff.files.plain_pickle import PLAIN_ACTIONS, PlainPickle

# Far more than the distributor's files need; the limit keeps tiny objects from filling memory.
_OPCODES = 10_000
_BYTES_AN_OPCODE = 256
_LONGEST_NAME = 100


class _Known(Enum):
    """The functions and types that the files name; these placeholders are never called."""

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
# Version, byte order, three entries for fields (none), size and alignment by the name, flags.
_UINT8_STATE = (3, "|", None, None, None, -1, -1, 0)


class _Array:
    """Stands for an array until its content is known."""

    def __init__(self) -> None:
        self.value: np.ndarray | None = None


def load_batch(content: bytes) -> dict[str, Any]:
    """Returns the dictionary that a CIFAR batch holds.

    Accepts the opcodes that Python 2's protocol 2 and Python 3's protocols 2 to 4 write for
    dictionaries, lists, tuples, strings, small integers and arrays of `uint8`; refuses all others.

    Args:
        content: The file's bytes: a dictionary pickled by Python 2 or 3.

    Returns:
        The dictionary, with keys of type `str`; other strings of Python 2 are `bytes`. Arrays are
        read-only `uint8`.

    Raises:
        ValueError: If the content is damaged, or holds anything else.
    """
    found = _Reader(content, _OPCODES + len(content) // _BYTES_AN_OPCODE).load()
    if not isinstance(found, dict):
        raise ValueError("it does not hold a dictionary")
    batch = {k.decode("latin1") if isinstance(k, bytes) else k: v for k, v in found.items()}
    return {k: v.value if isinstance(v, _Array) else v for k, v in batch.items()}


class _Reader(PlainPickle):
    """Also builds arrays of `uint8`, recognised by the functions that the pickle names."""

    keys = (bytes, str)

    def _name(self, module: Any, name: Any) -> None:
        known = _GLOBALS.get((module, name))
        if known is None:
            asked = f"{module}.{name}"
            raise ValueError(f"it asks for {asked if asked.isprintable() else 'something else'}")
        self.push(known)

    def _stacked_name(self) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        if not isinstance(module, str) or not isinstance(name, str):
            raise ValueError("it asks for a name that is no text")
        self._name(module, name)

    def _reduce(self) -> None:
        arguments, function = self.stack.pop(), self.stack.pop()
        first = arguments[0]
        if function is _Known.RECONSTRUCT and first is _Known.NDARRAY:
            self.push(_Array())
        elif function is _Known.DTYPE:
            if first not in (b"u1", "u1"):
                raise ValueError("its data are not 8-bit pixels")
            self.push(_Known.UINT8)
        elif function is _Known.ENCODE:
            # Bytes, as Python 3 writes them in protocol 2.
            encoding = arguments[1]
            if not isinstance(encoding, str) or not isinstance(first, str):
                raise ValueError("it encodes something else than a text")
            if encoding != "latin1":
                raise ValueError(f"it asks for the encoding {encoding[:20]!r}")
            self.push(first.encode("latin1"))
        else:
            raise ValueError("it calls something else than the maker of an array")

    def _build(self) -> None:
        state, built = self.stack.pop(), self.stack[-1]
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


_Reader.actions = MappingProxyType(
    {
        **PLAIN_ACTIONS,
        b"c": lambda r: r._name(r.line(_LONGEST_NAME), r.line(_LONGEST_NAME)),
        b"\x93": _Reader._stacked_name,
        b"R": _Reader._reduce,
        b"b": _Reader._build,
    }
)
