"""Columns of a pandas DataFrame as arrays; duck-typed, so that pandas need not be installed."""

from __future__ import annotations

import logging
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from f3ast_tff.core.client_names import client_name, client_names, listed, numbers_if_all

_LOG = logging.getLogger(__name__)

_NUMBERS = "biuf"
# Largest integer that a float64 distinguishes from its neighbours.
_MAX_INTEGER = 2**53
# Largest integer up to which single precision distinguishes all integers.
_MAX_EXACT = 2**24
# Limit on a text's length, as NumPy gives all texts of an array the length of the longest.
_MAX_TEXT = 1000
# Limit on all texts of a column together, characters of 4 bytes.
_MAX_TEXTS = 2**27
# Examples, beyond one of each class, from which on a column's agreement is no chance.
_FEWEST = 20


def pandas_of(table: Any) -> Any:
    """Returns a pandas DataFrame: itself, or a table with `to_pandas`, as of polars and Arrow.

    Raises:
        ValueError: If it is no table, or its library cannot convert it here.
    """
    # Modin's is behind an accessor.
    convert = getattr(getattr(table, "modin", table), "to_pandas", None)
    try:
        table = table if convert is None else convert()
    except ImportError as error:
        raise ValueError(f"to_pandas of its library cannot be used here: {error}") from error
    # Dask's tables have columns of pandas' names, and no values.
    if all(hasattr(table, each) for each in ("iloc", "columns", "to_numpy")):
        if table.columns.nlevels > 1:
            raise ValueError(f"must have one name per column, not {table.columns.nlevels} levels")
        return table
    kind = type(table)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    raise ValueError(f"must be a DataFrame, or a table with to_pandas, not {name}")


def refuse_missing(frame: Any, columns: Sequence[str]) -> None:
    """Raises `ValueError` if a column is not in the frame; names the frame's columns."""
    there = listed(frame.columns)
    for column in columns:
        if column not in frame.columns:
            raise ValueError(f"there is no column {column!r}; there are {there}")
    if not len(frame):
        raise ValueError("it has no rows")
    if not frame.columns.is_unique:
        raise ValueError(f"two columns have the same name: {there}")


def ids(frame: Any, column: str) -> np.ndarray:
    """Returns client ids `[n]`, by `client_name`: integers if all are, else texts."""
    values = _values(frame, column)
    if values.dtype.kind in "iu":
        return values
    refuse_rounded(values, f"column {column!r}")
    if values.dtype.kind == "f" and _is_whole(values).all():
        return values.astype(np.int64)
    names = numbers_if_all(client_names(texts(values, f"column {column!r}").tolist()))
    if names.dtype.kind == "U":
        _warn_of_cases(np.unique(names), column)
    return names


def classes(frame: Any, column: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """Returns labels `[n]` and their names: integers unchanged, texts by their sorted order.

    Integers have no names. Texts are one by `client_name`, as are those of clients.

    Raises:
        ValueError: If a number is not an integer; names the row.
    """
    values = _values(frame, column)
    if values.dtype.kind not in _NUMBERS:
        if len(values) and isinstance(values[0], (list, tuple, np.ndarray)):
            return _stacked(values, column), ()
        found, places = np.unique(texts(values, f"column {column!r}"), return_inverse=True)
        names, merged = np.unique([client_name(each) for each in found], return_inverse=True)
        labels = merged[places]
        _warn_of_cases(names, column)
        number = np.array([is_number(name) for name in names])
        if not number.all() and 2 * number[labels].sum() >= len(labels):
            said = "column %s: classes are texts, as %s is no number"
            _LOG.warning(said, column, names[~number][0])
        return labels, tuple(names.tolist())
    if values.dtype.kind == "f":
        whole = _is_whole(values)
        if not whole.all():
            row = int(np.argmin(whole))
            said = f"column {column!r}: row {row} has {values[row]}, no integer"
            raise ValueError(
                f"{said}; labels that are values need num_classes=0 (--task=file: --data_values)"
            )
        return values.astype(np.int64), ()
    return values, ()


def _warn_of_cases(names: np.ndarray, column: str) -> None:
    first: dict[str, str] = {}
    for name in names.tolist():
        plain = unicodedata.normalize("NFKC", name).casefold()
        # A byte-order mark and blanks of no width are not printable.
        plain = "".join(c for c in plain if c.isprintable() or c.isspace())
        if (other := first.setdefault(" ".join(plain.split()), name)) != name:
            said = "column %s: %r and %r are two, by case or blanks, or letters coded in two ways"
            _LOG.warning(said, column, other, name)
            return


def values(frame: Any, column: str) -> np.ndarray:
    """Returns labels that are values, `[n]`, or `[n, ...]` of a column of arrays or lists.

    Raises:
        ValueError: If a row holds something else; names the row.
    """
    found = _values(frame, column)
    return found if found.dtype.kind in _NUMBERS else _stacked(found, column)


def refuse_rounded(values: np.ndarray, what: str) -> None:
    """Raises `ValueError` if ids are floats beyond 2^53, of which one stands for several integers.

    Args:
        values: Ids, `[n]`, of any type.
        what: Name in the message.
    """
    floats = values if values.dtype.kind == "f" else [v for v in values if isinstance(v, float)]
    large = [v for v in floats if _MAX_INTEGER <= abs(v) < np.inf]
    if large:
        allowed = "above 2^53 it stands for several integers: give ids as integers or texts"
        raise ValueError(f"{what}: the id {large[0]:.0f} is a floating-point number: {allowed}")


def _is_whole(values: np.ndarray) -> np.ndarray:
    return np.asarray((values == np.rint(values)) & (np.abs(values) < _MAX_INTEGER))


def is_test(frame: Any, column: str) -> np.ndarray:
    """Returns whether each row is `test`, `bool [n]`; `Test` and blanks around it too.

    Raises:
        ValueError: If a row is neither `train` nor `test`; names the row.
    """
    given = _values(frame, column).astype(str)
    values = np.char.lower(np.char.strip(given))
    known = np.isin(values, ("train", "test"))
    if not known.all():
        row = int(np.argmin(known))
        said = str(given[row])
        raise ValueError(f"column {column!r}: row {row} has {said!r}, not train or test")
    return values == "test"


def feature_columns(frame: Any, columns: Sequence[str] | None, known: Sequence[str]) -> list[str]:
    """Returns the columns of the features: those given, or the default.

    The default is all columns of numbers or, if there are none, the only column of arrays; `known`
    columns are left out. A column of numbers but for some texts is named with its first one.

    Raises:
        ValueError: If there are no such columns.
    """
    # All columns at once: a frame may have a column per pixel.
    numbers = {c for c, dtype in zip(frame.columns, frame.dtypes) if _is_of_numbers(dtype)}
    ignored = []
    if columns is None:
        others = [column for column in frame.columns if column not in known]
        columns = [c for c in others if c in numbers]
        columns = columns or [c for c in others if _holds_arrays(frame[c])]
        read = set(columns)
        ignored = [_with_odd_text(frame[c]) for c in others if c not in read]
        if ignored and columns:
            _LOG.warning("not read as features: %s", ", ".join(ignored))
    if len(columns) == 1 and _holds_arrays(frame[columns[0]]):
        return list(columns)
    odd = [str(column) for column in columns if column not in numbers]
    if odd or not columns:
        what = f"column {odd[0]!r} holds neither" if odd else "no other column holds either"
        what += f", not {listed(ignored)}" if ignored else ""
        raise ValueError(f"features must be columns of numbers, or one of arrays: {what}")
    return list(columns)


def _with_odd_text(series: Any) -> str:
    """The name of a column; with the first text in it, if at least half of it are numbers."""
    for row, value in enumerate(values := series.tolist()):
        if not is_number(value):
            many = 2 * sum(map(is_number, values)) >= len(values)
            return f"{series.name} (row {row} has {value!r})" if many else str(series.name)
    # Numbers as texts, or as databases have them.
    kind = type(values[0]).__name__
    return f"{series.name} (its numbers are of type {kind}: astype(float) makes them features)"


def is_number(value: Any) -> bool:
    """Whether a value, or the text of one, is a number in decimal digits."""
    if isinstance(value, str) and ("_" in value or not value.isascii()):
        return False
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    except OverflowError:  # An integer of more than 308 digits.
        return True
    return True


def features(frame: Any, columns: Sequence[str]) -> np.ndarray:
    """Returns the features of `feature_columns`: `[n, d]`, or `[n, ...]` of a column of arrays.

    Raises:
        ValueError: If arrays differ in shape, or integers would be equal in single precision.
    """
    if len(columns) == 1 and _holds_arrays(frame[columns[0]]):
        return _stacked(frame[columns[0]].to_numpy(), columns[0])
    # A gap becomes NaN; a later check refuses it and names its row.
    _refuse_collapsed(frame, columns)
    return np.ascontiguousarray(frame[list(columns)].to_numpy(np.float32, na_value=np.nan))


def warn_of_leaks(columns: Sequence[str], features: np.ndarray, labels: np.ndarray) -> None:
    """Warns of features `[n, d]` that number the rows, or have one value per class."""
    _, first, classes = np.unique(labels, return_index=True, return_inverse=True)
    if labels.ndim > 1 or len(labels) - len(first) < _FEWEST:
        return
    same = first[classes]  # The first row of each row's class.
    leaks = [
        name
        for name, column in zip(columns, features.T)
        if (np.diff(column) == 1).all() or ((column == column[same]).all() and np.ptp(column))
    ]
    if leaks:
        said = "features that number the rows, or have one value per class (leaks?): %s"
        _LOG.warning(said, listed(leaks))


def warn_of_parts(train: Any, test: Any, num_classes: int, names: Sequence[str]) -> None:
    """Warns of classes without a training example, and of tests that are training examples."""
    classes = np.setdiff1d(np.arange(num_classes), train.labels)
    if len(classes):
        said = "labels are classes%s: %d classes, of which %d have no training example: %s"
        some = listed(names[k] if names else k for k in classes)
        _LOG.warning(said, "" if names else " from 0", num_classes, len(classes), some)
    if num_classes == 1:
        _LOG.warning("all labels are one class: every model is right")
    tests = Counter(_hashes(test))
    found = Counter(each for each in _hashes(train) if each in tests)
    copies = sum(tests[each] for each in found)
    # In a table of few distinct rows, copies are expected.
    if 2 * copies > len(test.labels) and found.total() < 4 * len(found):
        _LOG.warning("%d of %d test examples equal a training example", copies, len(test.labels))


def _hashes(part: Any) -> Iterator[int]:
    return (hash((x.tobytes(), y.tobytes())) for x, y in zip(part.features, part.labels))


def _refuse_collapsed(frame: Any, columns: Sequence[str]) -> None:
    # Made once, because `dtypes` is a new Series on each access.
    kinds = {column: dtype.kind for column, dtype in zip(frame.columns, frame.dtypes)}
    of_integers = [column for column in columns if kinds[column] in "iu"]
    whole = frame[of_integers]
    large = (whole.max() > _MAX_EXACT) | (whole.min() < -_MAX_EXACT)
    for column in large.index[large]:
        values = whole[column].dropna()
        dtype = getattr(values.dtype, "numpy_dtype", values.dtype)
        refuse_collapsed(values.to_numpy(dtype), f"column {column!r}")


def refuse_collapsed(integers: np.ndarray, what: str) -> None:
    """Raises `ValueError` if two integers are equal in single precision; names both."""
    if not integers.size or max(abs(int(integers.min())), int(integers.max())) <= _MAX_EXACT:
        return
    values = np.unique(integers)
    same = np.flatnonzero(np.diff(values.astype(np.float32)) == 0)
    if len(same):
        low, high = values[same[0] : same[0] + 2]
        allowed = f"{low} and {high} are one number in single precision: subtract a constant"
        raise ValueError(f"{what}: {allowed}, or scale it")


def texts(values: np.ndarray, what: str) -> np.ndarray:
    """Returns values as texts `[n]`.

    Raises:
        ValueError: If two values become the same text, or a text is too long; names them.
    """
    first: dict[str, Any] = {}
    for value in dict.fromkeys(values.tolist()):
        # NumPy cuts zeros off the end of a text.
        text = str(value).rstrip("\0")
        if len(text) > _MAX_TEXT:
            raise ValueError(f"{what}: {text[:20]!r}... is longer than {_MAX_TEXT} characters")
        other = first.setdefault(text, value)
        if other is not value:
            raise ValueError(f"{what}: {other!r} and {value!r} would be one")
    longest = max(map(len, first), default=0)
    if len(values) * longest > _MAX_TEXTS:
        long = max(first, key=len)[:20]
        allowed = f"of {longest} characters, and NumPy gives all {len(values)} rows that size"
        raise ValueError(f"{what}: {long!r}... is a text {allowed}: shorten it")
    return values.astype(str)


def _is_of_numbers(dtype: Any) -> bool:
    return getattr(dtype, "kind", "O") in _NUMBERS


def _holds_arrays(series: Any) -> bool:
    return isinstance(series.iloc[0], (list, tuple, np.ndarray))


def _values(frame: Any, column: str) -> np.ndarray:
    """A column without gaps; numbers of pandas (`Int64`) and Arrow become numbers of NumPy."""
    # Integers as databases return them are objects.
    series = frame[column].infer_objects()
    gaps = series.isna().to_numpy()
    if gaps.any():
        raise ValueError(f"column {column!r}: row {int(np.argmax(gaps))} has no value")
    if _is_of_numbers(series.dtype):
        return series.to_numpy(getattr(series.dtype, "numpy_dtype", series.dtype))
    if hasattr(series, "cat"):
        # Each text once in memory, unlike in pandas 3.
        kinds = series.cat.categories
        values = kinds.to_numpy(None if _is_of_numbers(kinds.dtype) else object)
        return values[series.cat.codes.to_numpy()]
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
    """Makes an array from nested lists, or from parquet's arrays of arrays."""
    array = np.asarray(value)
    if not array.ndim or array.dtype.kind not in _NUMBERS + "O":
        raise TypeError
    return array if array.dtype.kind != "O" else np.array([_dense(part) for part in array])
