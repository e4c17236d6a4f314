"""Table: masks given as data."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.availability.joint_availability import JointAvailability, measured_and_said
from f3ast_tff.availability.logs.availability_log import ROUND_SECONDS, AvailabilityLog, read_log
from f3ast_tff.availability.logs.mask_files import PackedMasks, masks_digest, packed_masks
from f3ast_tff.availability.logs.time_units import UNITS
from f3ast_tff.availability.process import AvailabilityConfig
from f3ast_tff.core.client_names import client_names, listed
from f3ast_tff.core.errors import DataError, ParameterError
from f3ast_tff.files.data_files import file_state
from f3ast_tff.settings import REQUIRED, parameter, register

_LOG = logging.getLogger(__name__)


class Table:
    """Round t takes row (t - 1) mod T. Correlation is measured (`measure_joint_availability`).

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import Table
        >>> process = Table(np.array([[1, 1, 0], [0, 1, 1]]))
        >>> process.stationary.tolist(), process.mask(3).tolist()
        ([0.5, 1.0, 0.5], [True, True, False])
    """

    positively_correlated = True
    periodic = True

    def __init__(
        self,
        table: np.ndarray | PackedMasks | AvailabilityLog | Path | str,
        round_seconds: int = ROUND_SECONDS,
    ) -> None:
        """Takes the matrix.

        Args:
            table: Zeros and ones (or booleans), `[T, N]`; or masks, a log, or a file for
                `read_log`.
            round_seconds: Length of a round, for a file with a clock.

        Raises:
            DataError: If it cannot be read, is empty, or has an entry other than 0 or 1.
        """
        self._is_array = isinstance(table, np.ndarray)
        if isinstance(table, (str, Path)):
            table = read_log(Path(table), round_seconds)
        elif isinstance(table, np.ndarray):
            table = packed_masks(table, "table")
        self.log = table if isinstance(table, AvailabilityLog) else AvailabilityLog(table)
        self.masks = self.log.masks
        self.num_clients = self.masks.shape[1]

    def of_clients(self, names: Sequence[str]) -> Table:
        """Returns the table of the clients that hold data: see `AvailabilityLog.of_clients`.

        An array has no names: with a column for each client its columns are the clients in the
        data's order, unless these are named by their numbers.
        """
        if not names:
            return self
        numbered = {str(k) for k in range(self.num_clients)}.issuperset(client_names(names))
        if self._is_array and len(names) == self.num_clients and not numbered:
            said = "masks without names: columns are the data's clients in their order, %s"
            _LOG.warning(said, listed(names))
            return Table(replace(self.log, clients=tuple(names)))
        return Table(self.log.of_clients(names))

    @cached_property
    def together(self) -> JointAvailability:
        """Measure of joint availability of the clients; logs the objective that follows."""
        return measured_and_said(self.masks, "masks")

    @property
    def identity(self) -> str:
        """Digest of the masks and the clients' names; a run on them can be resumed."""
        return " ".join([masks_digest(self.masks), *self.log.clients])

    def __getstate__(self) -> dict[str, Any]:
        """The state without the measure."""
        return {"masks": self.masks, "clients": self.log.clients}

    def __deepcopy__(self, memo: Any) -> Table:
        """Returns itself: a table has no state."""
        return self

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(AvailabilityLog(state["masks"], state["clients"]))  # type: ignore[misc]

    @property
    def stationary(self) -> np.ndarray:
        """Share of the rows with a one, `float64 [N]`."""
        return self.masks.mean()

    def mask(self, round_number: int) -> np.ndarray:
        return self.masks.row((round_number - 1) % self.masks.shape[0] + 1)


@lru_cache(maxsize=2)
def _read(
    path: Path, round_seconds: int, columns: str, time_unit: str, max_visit: int | None, *_: int
) -> AvailabilityLog:
    """The log in a file, read once for both settings and process."""
    unit = "" if time_unit == "auto" else time_unit
    return read_log(path, round_seconds, columns=columns, time_unit=unit, max_visit=max_visit)


@lru_cache(maxsize=16)
def _measured(path: Path, *arguments: Any) -> JointAvailability:
    """The measure, logged once per file."""
    return measured_and_said(_read(path, *arguments).masks, str(path))


@register(
    "availability", "table", "Table", about="who is available when, read from a file", order=10
)
@dataclass(frozen=True)
class TableConfig(AvailabilityConfig):
    """A `Table` read from a file.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import TableConfig
        >>> np.save("masks.npy", [[1, 1, 0], [0, 1, 1]])
        >>> process = TableConfig(table_file="masks.npy").build(np.ones(3) / 3, seed=0)
        >>> process.mask(3).tolist()  # Row 1 again.
        [True, True, False]
    """

    positively_correlated: ClassVar[bool] = Table.positively_correlated

    table_file: str = parameter(
        REQUIRED,
        "who is available when: a 0/1 matrix, a row per round and a column per client (.npy, .npz, "
        ".csv), or a log of device,time,online or device,start,end (.csv, .jsonl, .parquet)",
        is_input=True,
    )
    table_round_seconds: int = parameter(
        ROUND_SECONDS, "length of a round, for a log with times", minimum=1, units="seconds"
    )
    table_columns: str = parameter(
        "", "columns of a log with other names, such as device=imei,time=ts,state=event"
    )
    table_time_unit: str = parameter(
        "auto", "unit of a log's times as numbers", choices=("auto", *UNITS)
    )
    table_max_visit: int | None = parameter(
        None, "longest visit of a log; longer ones are closed", minimum=1, units="seconds"
    )
    clients: tuple[str, ...] = ()

    @classmethod
    def _arguments(cls, known: Any) -> tuple[Any, ...]:
        """Arguments of `_read`; the last ones change with the file."""
        path = Path(known["table_file"])
        names = ("round_seconds", "columns", "time_unit", "max_visit")
        return path, *(known[f"table_{name}"] for name in names), *file_state(path)

    @classmethod
    def measured(cls, known: Any) -> JointAvailability | None:
        try:
            return _measured(*cls._arguments(known))
        except (DataError, ParameterError):
            # The run will report the error.
            return None

    @classmethod
    def num_clients_of(cls, known: Any) -> int | None:
        try:
            return _read(*cls._arguments(known)).masks.shape[1]
        except (DataError, ParameterError):
            return None

    def for_clients(self, names: Sequence[str]) -> TableConfig:
        return replace(self, clients=tuple(names))

    def client_names(self, process: Any) -> Sequence[str]:
        return process.log.clients

    def build(self, p: np.ndarray, seed: int) -> Table:
        table = Table(_read(*self._arguments(vars(self)))).of_clients(self.clients)
        if table.num_clients != len(p):
            allowed = f"has {table.num_clients} columns, must have one for each of {len(p)} clients"
            raise ParameterError("table_file", self.table_file, allowed)
        return table
