"""A table with its columns as codes: each distinct value is looked at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from f3ast_tff.core.client_names import client_name
from f3ast_tff.core.errors import DataError

# Texts that say that there is no value.
GAPS = frozenset({"", "nan", "nat", "none", "null", "<na>", "n/a", "\\n"})


@dataclass(frozen=True, eq=False)
class Coded:
    """A column of n rows with m distinct values.

    Attributes:
        codes: Place of each row's value among the distinct ones, -1 for a gap, `int64 [n]`.
        values: Distinct values.
    """

    codes: np.ndarray
    values: list[Any]

    @cached_property
    def texts(self) -> list[str]:
        """The distinct values as texts without blanks around."""
        return [str(value).strip() for value in self.values]

    @cached_property
    def words(self) -> list[str]:
        """The distinct texts in lower case; SLURM's mark of a node that does not answer is cut."""
        return [text.lower().removesuffix("*") for text in self.texts]

    @cached_property
    def filled(self) -> np.ndarray:
        """Whether each row has a value, `bool [n]`."""
        return self.of_rows([word not in GAPS for word in self.words], False)

    def of_rows(self, of_values: Any, gap: Any) -> np.ndarray:
        """Returns a value per row, from one per distinct value, and one for gaps."""
        if not self.values:
            return np.full(len(self.codes), gap)
        return np.append(np.asarray(of_values), gap)[self.codes]

    @cached_property
    def numbers(self) -> np.ndarray:
        """The distinct values as numbers, NaN for others, `float64 [m]`."""
        import pandas as pd

        return np.asarray(pd.to_numeric(pd.Series(self.texts), errors="coerce"), np.float64)


@dataclass(frozen=True, eq=False)
class LogTable:
    """A table of a log.

    Attributes:
        frame: A pandas DataFrame.
        name: Name in messages.
        roles: Columns whose part is known from the file's form.
        form: Form of the file, in words; empty for a plain table. Columns of known forms that have
            no part decide nothing.
        sampled: Whether rows are samples, without which a device gave no answer.
        named: Whether columns have names.
    """

    frame: Any
    name: str
    roles: Mapping[str, Any] = field(default_factory=dict)
    form: str = ""
    sampled: bool = False
    named: bool = True
    _coded: dict[Any, Coded] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.frame)

    @cached_property
    def repeats(self) -> np.ndarray:
        """Whether each row is the same in all columns as one before, `bool [n]`."""
        return repeats_of(self.frame)

    def coded(self, column: Any) -> Coded:
        """Returns a column as codes, made once.

        Raises:
            DataError: If it holds lists or objects.
        """
        if column not in self._coded:
            self._coded[column] = coded(self.frame[column], f"{self.name}: column {column!r}")
        return self._coded[column]

    def pairs(self, first: Any, second: Any) -> np.ndarray:
        """Returns both values of each row as one text, such as `7/12`; `None` without the second.

        Args:
            first: A column.
            second: Another one.
        """
        columns = [self.coded(column) for column in (first, second)]
        texts = [each.of_rows(np.array(each.texts, object), "") for each in columns]
        names = texts[0] + "/" + texts[1]
        names[~columns[1].filled] = None
        return names

    def row(self, place: int) -> str:
        """Names a row: `line 7` of a file, `row 5` of a frame."""
        return row_of(self.frame, place)

    def entry(self, column: Any, place: int) -> str:
        """Names an entry and says it, for messages: `column 'time', line 7 is 'x'`."""
        said = repr(str(self.frame[column].iloc[place])[:80])
        return f"{self.name}: column {column!r}, {self.row(place)} is {said}"


def row_of(table: Any, place: int) -> str:
    """Names a row of a frame or Series: `line 7` of a file, `row 5` of a frame."""
    return f"{table.index.name or 'row'} {table.index[place]}"


def repeats_of(frame: Any) -> np.ndarray:
    """Returns whether each row of a frame is the same in all columns as one before, `bool [n]`."""
    try:
        return np.asarray(frame.duplicated())
    except TypeError:
        # Lists and objects, as of JSON, are compared as texts.
        return np.asarray(frame.astype(str).duplicated())


def coded(values: Any, what: str) -> Coded:
    """Returns values as codes; values of several types by their names, as `True` is not 1.

    Args:
        values: A Series, or an array of objects, `[n]`.
        what: Name in the message.

    Raises:
        DataError: If a value is a list or an object.
    """
    import pandas as pd

    if values.dtype.kind == "O" and pd.api.types.infer_dtype(values) not in ("string", "empty"):
        flat = np.asarray(values, object)
        lists = [v for v in flat if isinstance(v, (list, dict, tuple, set, np.ndarray))]
        if lists:
            raise DataError(f"{what}: holds lists or objects, such as {str(lists[0])[:80]}")
        values = np.array([_plain(value) for value in flat], object)
    try:
        codes, distinct = pd.factorize(values)
    except TypeError as error:
        raise DataError(f"{what}: holds lists or objects") from error
    return Coded(codes, list(distinct.tolist()))


def _plain(value: Any) -> Any:
    import pandas as pd

    if isinstance(value, str):
        return value
    if value is None or value is pd.NaT or value is pd.NA or value != value:
        return None
    if isinstance(value, (bool, np.bool_, int, float, np.number)):
        return client_name(value)
    return value
