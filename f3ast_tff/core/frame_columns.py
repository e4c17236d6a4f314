"""Columns of a pandas DataFrame as arrays; duck-typed, so that pandas need not be there."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np

_NUMBERS = "biuf"
# Floating-point numbers beyond are not told apart from their neighbours.
_MAX_INTEGER = 2**53


def refuse_missing(frame: Any, columns: Sequence[str]) -> None:
    """Raises `ValueError` if a column is not in the frame; names the frame's columns."""
    there = ", ".join(map(str, frame.columns))
    for column in columns:
        if column not in frame.columns:
            raise ValueError(f"there is no column {column!r}; there are {there}")
    if not len(frame):
        raise ValueError("it has no rows")
    if not frame.columns.is_unique:
        raise ValueError(f"two columns have the same name: {there}")


def ids(frame: Any, column: str) -> np.ndarray:
    """Returns client ids, integers or texts `[n]`."""
    values = _values(frame, column)
    return values if values.dtype.kind in "iu" else values.astype(str)


def classes(frame: Any, column: str) -> np.ndarray:
    """Returns labels: integers `[n]` as they are, texts as their places in sorted order.

    Raises:
        ValueError: If a number is no integer; names the row.
    """
    values = _values(frame, column)
    if values.dtype.kind not in _NUMBERS:
        if len(values) and isinstance(values[0], (list, tuple, np.ndarray)):
            return _stacked(values, column)
        return np.unique(values.astype(str), return_inverse=True)[1]
    if values.dtype.kind == "f":
        whole = (values == np.rint(values)) & (np.abs(values) < _MAX_INTEGER)
        if not whole.all():
            row = int(np.argmin(whole))
            raise ValueError(f"column {column!r}: row {row} has {values[row]}, no integer")
        return values.astype(np.int64)
    return values


def is_test(frame: Any, column: str) -> np.ndarray:
    """Returns which rows say `test`, `bool [n]`.

    Raises:
        ValueError: If one says something beside `train` and `test`; names the row.
    """
    values = _values(frame, column).astype(str)
    known = np.isin(values, ("train", "test"))
    if not known.all():
        row = int(np.argmin(known))
        said = str(values[row])
        raise ValueError(f"column {column!r}: row {row} has {said!r}, not train or test")
    return values == "test"


def features(frame: Any, columns: Sequence[str] | None, known: Sequence[str]) -> np.ndarray:
    """Returns features `[n, d]`, or `[n, ...]` of one column of arrays.

    Args:
        frame: The table.
        columns: Columns to read; `None` for all of numbers, or else the one of arrays.
        known: Columns that are no features.

    Raises:
        ValueError: If there are no such columns, or arrays have different shapes.
    """
    if columns is None:
        others = [column for column in frame.columns if column not in known]
        columns = [c for c in others if _holds_numbers(frame[c])]
        columns = columns or [c for c in others if _holds_arrays(frame[c])]
        ignored = [str(column) for column in others if column not in columns]
        if ignored and columns:
            logging.getLogger(__name__).warning("not read as features: %s", ", ".join(ignored))
    if len(columns) == 1 and _holds_arrays(frame[columns[0]]):
        return _stacked(frame[columns[0]].to_numpy(), columns[0])
    odd = [str(column) for column in columns if not _holds_numbers(frame[column])]
    if odd or not columns:
        what = f"column {odd[0]!r} holds neither" if odd else "no other column holds either"
        raise ValueError(f"features must be columns of numbers, or one of arrays: {what}")
    # A gap becomes NaN, which is refused with its row.
    return np.stack([frame[c].to_numpy(np.float32, na_value=np.nan) for c in columns], axis=1)


def _holds_numbers(series: Any) -> bool:
    return getattr(series.dtype, "kind", "O") in _NUMBERS


def _holds_arrays(series: Any) -> bool:
    return isinstance(series.iloc[0], (list, tuple, np.ndarray))


def _values(frame: Any, column: str) -> np.ndarray:
    """A column without gaps; pandas' own numbers (`Int64`, Arrow's) as NumPy's."""
    series = frame[column]
    gaps = series.isna().to_numpy()
    if gaps.any():
        raise ValueError(f"column {column!r}: row {int(np.argmax(gaps))} has no value")
    if _holds_numbers(series):
        return series.to_numpy(getattr(series.dtype, "numpy_dtype", series.dtype))
    return series.to_numpy()


def _stacked(values: np.ndarray, column: str) -> np.ndarray:
    rows = []
    for row, value in enumerate(values):
        try:
            rows.append(_dense(value))
        except (TypeError, ValueError) as error:
            raise ValueError(f"column {column!r}: row {row} holds no array of numbers") from error
        if rows[row].shape != rows[0].shape:
            raise ValueError(
                f"column {column!r}: row {row} has shape {list(rows[row].shape)}, row 0 "
                f"{list(rows[0].shape)}"
            )
    return np.stack(rows)


def _dense(value: Any) -> np.ndarray:
    """An array of lists within lists, or of parquet's arrays of arrays."""
    array = np.asarray(value)
    if not array.ndim or array.dtype.kind not in _NUMBERS + "O":
        raise TypeError
    return array if array.dtype.kind != "O" else np.array([_dense(part) for part in array])
