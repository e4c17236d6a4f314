"""Reads CIFAR batches as data, because a pickle is a program that could do anything."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from f3ast_tff.files.plain_pickle import load_plain

# Far more than the distributor's files need; the limit keeps tiny objects from filling memory.
_OPCODES = 10_000
_BYTES_AN_OPCODE = 256
# Version, byte order, three entries for fields (none), size and alignment by the name, flags.
_UINT8_STATE = (3, "|", None, None, None, -1, -1, 0)


class _Part:
    """What stands for a name of NumPy, or for what it makes; a subclass says what it may do."""

    __slots__ = ()

    def __call__(self, *arguments: Any) -> Any:
        raise ValueError("it calls something else than the maker of an array")

    def __setstate__(self, state: Any) -> None:
        raise ValueError("it changes something else than a new array")


class _Array(_Part):
    """Stands for an array until its content is known."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: np.ndarray | None = None

    def __setstate__(self, state: Any) -> None:
        if self.value is not None:
            raise ValueError("it changes something else than a new array")
        self.value = _array(*state)


class _Reconstruct(_Part):
    __slots__ = ()

    def __call__(self, *arguments: Any) -> Any:
        if arguments[0] is not _NDARRAY:
            raise ValueError("it calls something else than the maker of an array")
        return _Array()


class _Uint8(_Part):
    __slots__ = ()

    def __setstate__(self, state: Any) -> None:
        order = state[1].decode() if isinstance(state[1], bytes) else state[1]
        if (state[0], order, *state[2:]) != _UINT8_STATE:
            raise ValueError("its data are not 8-bit pixels")


class _DType(_Part):
    __slots__ = ()

    def __call__(self, *arguments: Any) -> Any:
        if arguments[0] not in (b"u1", "u1"):
            raise ValueError("its data are not 8-bit pixels")
        return _Uint8()


class _Encode(_Part):
    """Makes bytes, as Python 3 writes them in protocol 2; no more than `left`."""

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left

    def __call__(self, *arguments: Any) -> bytes:
        text, encoding = arguments
        if not isinstance(encoding, str) or not isinstance(text, str):
            raise ValueError("it encodes something else than a text")
        if encoding != "latin1":
            raise ValueError(f"it asks for the encoding {encoding[:20]!r}")
        self.left -= len(text)
        if self.left < 0:
            raise ValueError("it encodes a text many times")
        return text.encode("latin1")


_NDARRAY = _Part()


def load_batch(content: bytes) -> dict[str, Any]:
    """Returns the dictionary that a CIFAR batch holds.

    Accepts what Python 2's protocol 2 and Python 3's protocols 2 to 4 write for dictionaries,
    lists, tuples, strings, small integers and arrays of `uint8`; refuses all else.

    Args:
        content: The file's bytes: a dictionary pickled by Python 2 or 3.

    Returns:
        The dictionary, with keys of type `str`; other strings of Python 2 are `bytes`. Arrays are
        read-only `uint8`.

    Raises:
        ValueError: If the content is damaged, or holds anything else.
    """
    names = {
        ("numpy.core.multiarray", "_reconstruct"): _Reconstruct(),
        ("numpy._core.multiarray", "_reconstruct"): _Reconstruct(),
        ("numpy", "ndarray"): _NDARRAY,
        ("numpy", "dtype"): _DType(),
        ("_codecs", "encode"): _Encode(len(content)),
    }
    found = load_plain(content, _OPCODES + len(content) // _BYTES_AN_OPCODE, names)
    if not isinstance(found, dict):
        raise ValueError("it does not hold a dictionary")
    if not all(isinstance(key, (bytes, str)) for key in found):
        raise ValueError("it has a key that is no bytes or str")
    batch = {k.decode("latin1") if isinstance(k, bytes) else k: v for k, v in found.items()}
    return {k: v.value if isinstance(v, _Array) else v for k, v in batch.items()}


def _array(version: Any, shape: Any, dtype: Any, fortran: Any, raw: Any) -> np.ndarray:
    if version != 1 or not isinstance(dtype, _Uint8) or fortran is not False:
        raise ValueError("its array is of another form")
    if not isinstance(raw, bytes) or not isinstance(shape, tuple) or len(shape) not in (1, 2):
        raise ValueError("its array is of another form")
    if not all(type(size) is int and size >= 0 for size in shape) or math.prod(shape) != len(raw):
        raise ValueError(f"its array of {len(raw)} bytes has another shape")
    return np.frombuffer(raw, np.uint8).reshape(shape)
