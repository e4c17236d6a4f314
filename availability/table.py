"""Table: who is available when, given outright."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from reprlib import repr
from typing import ClassVar

import numpy as np

from f3ast_tff.array_files import open_npy
from f3ast_tff.availability.process import AvailabilityConfig
from f3ast_tff.components import REQUIRED, parameter, register
from f3ast_tff.data_files import read_text
from f3ast_tff.errors import DataError, ParameterError


def read_table(path: Path) -> np.ndarray:
    """Reads a matrix of zeros and ones, a row a round and a column a client.

    Args:
        path: A `.npy` file (any boolean or numeric dtype; it is memory-mapped) or a `.csv` file
            (comma-separated, no header; at most 256 MiB).

    Returns:
        `[T, N]`, unchecked beyond its being a matrix; `Table` checks the entries.

    Raises:
        DataError: If the file is missing, not of these kinds, or not a matrix.
    """
    if path.suffix not in (".npy", ".csv"):
        raise DataError(f"{path}: must end in .npy or .csv")
    if not path.is_file():
        raise DataError(f"{path}: there is no such file")
    try:
        table = open_npy(path) if path.suffix == ".npy" else _numbers(read_text(path))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: not a table of zeros and ones: {error}") from error
    if table.ndim != 2:
        raise DataError(f"{path}: has shape {table.shape}, must be [rounds, clients]")
    return table


def _numbers(text: str) -> np.ndarray:
    lines = [line for line in text.splitlines() if line.strip()]
    rows = []
    for number, line in enumerate(lines, 1):
        row = np.array([_number(entry, number) for entry in line.split(",")])
        rows.append(row)
        if len(row) != len(rows[0]):
            raise ValueError(f"row {number} has {len(row)} entries, row 1 has {len(rows[0])}")
    return np.stack(rows) if rows else np.zeros((0, 0))


def _number(entry: str, row: int) -> float:
    try:
        return float(entry)
    except ValueError:
        raise ValueError(f"row {row} has {repr(entry)}") from None


class Table:
    """Round t takes row (t - 1) mod T; not known to be free of correlation (see the protocol)."""

    positively_correlated = True
    periodic = True

    def __init__(self, table: np.ndarray | Path | str, seed: int = 0) -> None:
        """Takes the matrix; the seed changes nothing.

        Args:
            table: Zeros and ones (or booleans), `[T, N]`, or the file that `read_table` reads.
            seed: Unused.

        Raises:
            DataError: If it cannot be read, is empty, or has another entry than 0 or 1.
        """
        name = "table" if isinstance(table, np.ndarray) else str(table)
        matrix = table if isinstance(table, np.ndarray) else read_table(Path(table))
        if matrix.ndim != 2 or 0 in matrix.shape:
            raise DataError(f"{name}: shape {matrix.shape}: must be [T, N], neither of them 0")
        if matrix.dtype.kind not in "biuf":
            raise DataError(f"{name}: dtype {matrix.dtype}: must be boolean or numeric")
        for t, row in enumerate(matrix):
            wrong = np.flatnonzero((row != 0) & (row != 1))
            if len(wrong):
                k = wrong[0]
                raise DataError(f"{name}: row {t}, column {k} is {row[k]}: must be 0 or 1")
        self.num_clients = matrix.shape[1]
        self._table = matrix.astype(bool)

    @property
    def stationary(self) -> np.ndarray:
        """Share of the rows with a one, `float64 [N]`."""
        return self._table.mean(axis=0)

    def mask(self, round_number: int) -> np.ndarray:
        """See `AvailabilityProcess.mask`."""
        return self._table[(round_number - 1) % len(self._table)].copy()


@register(
    "availability", "table", "Table", about="who is available when, read from a file", order=10
)
@dataclass(frozen=True)
class TableConfig(AvailabilityConfig):
    """Configuration of `Table`."""

    positively_correlated: ClassVar[bool] = Table.positively_correlated

    table_file: str = parameter(
        REQUIRED, "0/1 matrix, a row a round and a column a client, .npy or .csv", is_input=True
    )

    def build(self, p: np.ndarray, seed: int) -> Table:
        """See `AvailabilityConfig.build`."""
        table = Table(Path(self.table_file))
        if table.num_clients != len(p):
            allowed = f"has {table.num_clients} columns, must have one for each of {len(p)} clients"
            raise ParameterError("table_file", self.table_file, allowed)
        return table
