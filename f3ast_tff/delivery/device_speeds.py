"""Reads the speeds of real devices from files, as FedScale describes device capacities.

JSON: an object `{DEVICE: {"computation": MS, "communication": KBPS}, ...}`, or an object with such
an object under `"devices"`; other members of a device are ignored. CSV: a header line
`device,computation,communication`, then one line per device. FedScale's file is a pickle of such
an object (`.pkl`, or no ending), which is read without executing it.

`computation` is the time of inference on an example, in milliseconds. `communication` is the
bandwidth, in kilobits per second.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr
from typing import Any

import numpy as np

from f3ast_tff.availability.logs.trace_files import read_pickle
from f3ast_tff.core.errors import DataError
from f3ast_tff.files.data_files import read_json, read_text
from f3ast_tff.settings.text_values import number_in

# A device, and its computation and communication.
_Entry = tuple[str, tuple[Any, Any]]
CSV_HEADER = ["device", "computation", "communication"]


@dataclass(frozen=True)
class DeviceSpeeds:
    """Speeds of D devices.

    Attributes:
        computation: Milliseconds of inference on an example, each above 0, `float64 [D]`.
        communication: Kilobits per second, each above 0, `float64 [D]`.
    """

    computation: np.ndarray
    communication: np.ndarray


def read_speeds(path: Path) -> DeviceSpeeds:
    """Reads a file of one of the forms above.

    Raises:
        DataError: If the file is missing or damaged; names the file, the device and the fault.
    """
    if path.suffix not in _READERS:
        allowed = "must end in .json, .csv or .pkl, or device_column must name a column of times"
        raise DataError(f"{path}: {allowed}")
    if not path.is_file():
        raise DataError(f"{path}: there is no such file")
    try:
        entries = _READERS[path.suffix](path)
        rows = [[_speed(device, value) for value in pair] for device, pair in entries]
    except (OSError, ValueError, csv.Error) as error:
        raise DataError(f"{path}: {error}") from error
    if not rows:
        raise DataError(f"{path}: has no device")
    computation, communication = np.array(rows, np.float64).T
    return DeviceSpeeds(computation, communication)


def _of_csv(path: Path) -> Iterator[_Entry]:
    lines = csv.reader(io.StringIO(read_text(path)))
    if next(lines, None) != CSV_HEADER:
        header = ",".join(CSV_HEADER)
        raise ValueError(f"line 1 must be {header}, or device_column must name a column of times")
    for number, line in enumerate(lines, 2):
        if not line:
            continue
        if len(line) != 3:
            raise ValueError(f"line {number}: must be a device and two numbers")
        yield line[0], (line[1], line[2])


def _of_object(content: Any) -> Iterator[_Entry]:
    devices = content.get("devices", content) if isinstance(content, Mapping) else None
    if not isinstance(devices, Mapping):
        raise ValueError("must be an object of devices, or device_column must name its times")
    for device, speeds in devices.items():
        if not isinstance(speeds, Mapping) or not {*CSV_HEADER[1:]} <= speeds.keys():
            raise ValueError(f"device {repr(device)}: must have computation and communication")
        yield str(device), (speeds["computation"], speeds["communication"])


_READERS: dict[str, Callable[[Path], Iterator[_Entry]]] = {
    ".csv": _of_csv,
    ".json": lambda path: _of_object(read_json(path)),
    ".pkl": lambda path: _of_object(read_pickle(path)),
    "": lambda path: _of_object(read_pickle(path)),
}


def _speed(device: str, value: Any) -> float:
    try:
        number = number_in(value) if isinstance(value, str) else float(value)
        number = math.nan if isinstance(value, bool) else number
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0 < number < math.inf:
        raise ValueError(f"device {repr(device)}: speed {repr(value)} must be a number above 0")
    return number
