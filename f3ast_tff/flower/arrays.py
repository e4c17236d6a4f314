"""Arrays of Flower's records: read as data, and of real numbers only."""

from __future__ import annotations

import ast
import importlib.util
import re
import warnings
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.real_numbers import is_real

# Encoding of `Array.numpy`: the format of `.npy` files.
_NUMPY = "numpy.ndarray"
_REAL = re.compile(r"[<>|=](?:[biu]\d|f(?:2|4|8|12|16))")
# NumPy writes bfloat16 and most floats of 8 bits as raw bytes; their name stands in the record.
_RAW, _SHORT = re.compile(r"[<>|=]V[12]"), re.compile(r"bfloat16|float8_[a-z0-9]{1,20}")
_LONGEST_HEADER = 10_000

# A model: its arrays by name.
Model = dict[str, np.ndarray]


class ArrayError(ValueError):
    """An array holds no real numbers, or does not fit the model; the message names the fault."""


def model_of(record: ArrayRecord) -> Model:
    """Returns the arrays of the model that a federation starts from.

    Raises:
        ParameterError: If an array is not of finite real numbers; names it.
    """
    try:
        return {name: _finite(name, numbers(name, array)) for name, array in record.items()}
    except ArrayError as error:
        raise ParameterError("initial_arrays", f"{len(record)} arrays", str(error)) from error


def record_of(model: Model) -> ArrayRecord:
    """Returns the record of a model."""
    return ArrayRecord({name: Array(value) for name, value in model.items()})


def fitting(name: str, array: Array, sent: np.ndarray) -> np.ndarray:
    """Returns a client's array, checked for shape and range.

    Args:
        name: Name of the array.
        array: The client's array: any bytes.
        sent: The model's array.

    Raises:
        ArrayError: If it has another encoding, shape, kind of numbers or size, or a number that is
            not finite, or out of range, in the model's type.
    """
    value, what = numbers(name, array, sent.shape), _named(name)
    value = value.astype(np.float32) if value.dtype.kind == "V" else value
    if sent.dtype.kind in "biu":
        _check_range(what, _finite(name, value), sent.dtype)
        return value
    with np.errstate(over="ignore", invalid="ignore"):
        fits = np.isfinite(value).all() and np.isfinite(value.astype(sent.dtype)).all()
    if not fits:
        raise ArrayError(f"{what} is not finite as {sent.dtype}")
    return value


def numbers(name: str, array: Array, wanted: tuple[int, ...] | None = None) -> np.ndarray:
    """Returns the real numbers of an array, read-only.

    Nothing is allocated before shape and bytes are known. bfloat16 and floats of 8 bits need
    `ml_dtypes`.

    Args:
        name: Name of the array.
        array: The array: any bytes.
        wanted: Its shape; any by default.

    Raises:
        ArrayError: See `fitting`.
    """
    what = _named(name)
    if array.stype != _NUMPY:
        raise ArrayError(f"{what} is encoded as {str(array.stype)[:40]!r}: must be {_NUMPY}")
    try:
        shape, by_columns, descr, begin = _header(array.data)
        dtype = _dtype(what, descr, array.dtype)
    except ArrayError:
        raise
    except (ValueError, TypeError, KeyError, SyntaxError, MemoryError, RecursionError) as error:
        raise ArrayError(f"{what} is no .npy array") from error
    if wanted is not None and shape != wanted:
        raise ArrayError(f"{what} has shape {str(shape)[:80]}: must be {wanted}")
    rest, size = memoryview(array.data)[begin:], dtype.itemsize
    for length in shape:
        size *= length
    if len(rest) != size:
        raise ArrayError(f"{what} has {len(rest)} bytes: must be {size}")
    return np.frombuffer(rest, dtype).reshape(shape, order="F" if by_columns else "C")


def _header(data: bytes) -> tuple[tuple[int, ...], bool, str, int]:
    """Shape, order by columns, type and place of the first byte of a `.npy` file.

    NumPy's own reader repairs headers of Python 2 by a tokenizer, which raises errors of its own.
    """
    if data[:6] != b"\x93NUMPY" or data[6:7] not in (b"\x01", b"\x02"):
        raise ValueError
    width = 2 if data[6:7] == b"\x01" else 4
    begin = 8 + width
    end = begin + int.from_bytes(data[8:begin], "little")
    if not begin < end <= min(len(data), _LONGEST_HEADER):
        raise ValueError
    with warnings.catch_warnings():
        # Python warns of odd literals, with their text.
        warnings.simplefilter("ignore")
        told = ast.literal_eval(data[begin:end].decode("latin1").strip())
    shape, by_columns, descr = told["shape"], told["fortran_order"], told["descr"]
    # Equal to integers are 6.0, True and 6+0j.
    integers = type(shape) is tuple and all(type(n) is int and n >= 0 for n in shape)
    if not integers or type(by_columns) is not bool or type(descr) is not str:
        raise ValueError
    return shape, by_columns, descr, end


def _dtype(what: str, descr: str, told: Any) -> np.dtype[Any]:
    """The type of the numbers, by the header; of raw bytes by the record."""
    if _REAL.fullmatch(descr):
        return np.dtype(descr)
    said = f"{what} has dtype {str(told)[:40]!r}, in the header {descr[:40]!r}"
    if not _RAW.fullmatch(descr) or not isinstance(told, str) or not _SHORT.fullmatch(told):
        raise ArrayError(f"{said}: must be of real numbers")
    if importlib.util.find_spec("ml_dtypes") is None:
        raise ArrayError(f"{what} has dtype {told}, which needs the package ml_dtypes")
    import ml_dtypes

    found = np.dtype(getattr(ml_dtypes, told, np.complex64))
    if not is_real(found) or found.itemsize != int(descr[-1]):
        raise ArrayError(f"{said}: must be of real numbers")
    return found


def _finite(name: str, value: np.ndarray) -> np.ndarray:
    if not np.isfinite(value).all():
        raise ArrayError(f"{_named(name)} is not finite")
    return value


def _check_range(what: str, value: np.ndarray, dtype: np.dtype[Any]) -> None:
    """Refuses numbers that, rounded, an integer type does not hold."""
    low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    for extreme in (value.min(), value.max()) if value.size else ():
        # Python's integers have no range.
        number = int(extreme if value.dtype.kind in "biu" else np.rint(extreme))
        if not low <= number <= high:
            raise ArrayError(f"{what} has a number out of the range of {dtype}")


def _named(name: str) -> str:
    return f"array {name[:80]!r}"
