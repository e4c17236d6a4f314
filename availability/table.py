"""Table: who is available when, given outright."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from f3ast_tff.availability.mask_files import Masks, packed_masks, read_masks
from f3ast_tff.availability.process import AvailabilityConfig
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings import REQUIRED, parameter, register


class Table:
    """Round t takes row (t - 1) mod T; not known to be free of correlation (see the protocol)."""

    positively_correlated = True
    periodic = True

    def __init__(self, table: np.ndarray | Path | str) -> None:
        """Takes the matrix.

        Args:
            table: Zeros and ones (or booleans), `[T, N]`, or the file that `read_masks` reads.

        Raises:
            DataError: If it cannot be read, is empty, or has another entry than 0 or 1.
        """
        self._masks: Masks
        if isinstance(table, np.ndarray):
            self._masks = packed_masks(table, "table")
        else:
            self._masks = read_masks(Path(table))
        self.num_clients = self._masks.shape[1]

    @property
    def stationary(self) -> np.ndarray:
        """Share of the rows with a one, `float64 [N]`."""
        return self._masks.mean()

    def mask(self, round_number: int) -> np.ndarray:
        """See `AvailabilityProcess.mask`."""
        return self._masks.row((round_number - 1) % self._masks.shape[0] + 1)


@register(
    "availability", "table", "Table", about="who is available when, read from a file", order=10
)
@dataclass(frozen=True)
class TableConfig(AvailabilityConfig):
    """A `Table` read from a file."""

    positively_correlated: ClassVar[bool] = True

    table_file: str = parameter(
        REQUIRED,
        "0/1 matrix, a row a round and a column a client: .npy, .npz or .csv",
        is_input=True,
    )

    def build(self, p: np.ndarray, seed: int) -> Table:
        """See `AvailabilityConfig.build`."""
        table = Table(Path(self.table_file))
        if table.num_clients != len(p):
            allowed = f"has {table.num_clients} columns, must have one for each of {len(p)} clients"
            raise ParameterError("table_file", self.table_file, allowed)
        return table
