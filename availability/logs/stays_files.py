"""Stays from files: the first and the last round of each client."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from reprlib import repr

import numpy as np

from f3ast_tff.core.client_names import client_name
from f3ast_tff.core.errors import DataError
from f3ast_tff.files.data_files import read_text

# Last round of a client that stays.
FOREVER = np.iinfo(np.int64).max
CSV_HEADER = ["client", "first", "last"]
_ROUND = re.compile("[0-9]{1,18}")


def read_stays(path: Path, num_clients: int) -> tuple[np.ndarray, np.ndarray]:
    """Reads a CSV file of stays: a header `client,first,last`, then a line per client.

    Clients are numbered from 0 and rounds from 1. A client without a last round stays. A client
    that is not listed is always present.

    Args:
        path: The file, at most 256 MiB.
        num_clients: Number of clients N.

    Returns:
        First and last rounds, `int64 [N]` each.

    Raises:
        DataError: If the file is missing or damaged; names the line.
    """
    first, last = np.ones(num_clients, np.int64), np.full(num_clients, FOREVER)
    seen = np.zeros(num_clients, bool)
    try:
        lines = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
        if next(lines, None) != CSV_HEADER:
            raise DataError(f"line 1 must be {','.join(CSV_HEADER)}")
        for number, line in enumerate(lines, 2):
            # Programs write whole numbers with a point too.
            line = [client_name(entry) for entry in line]
            client, start, end = _stay(line, number)
            if client >= num_clients or seen[client]:
                wrong = "was there before" if client < num_clients else f"of {num_clients}"
                raise DataError(f"line {number}: client {client} {wrong}")
            seen[client], first[client], last[client] = True, start, end
    except FileNotFoundError as error:
        raise DataError(f"{path}: there is no such file") from error
    except (OSError, ValueError, csv.Error, DataError) as error:
        raise DataError(f"{path}: {error}") from error
    return first, last


def _stay(line: list[str], number: int) -> tuple[int, int, int]:
    if len(line) != 3 or not all(_ROUND.fullmatch(entry) for entry in line[:2]):
        raise DataError(f"line {number}: {repr(line)} is not a client, a first and a last round")
    if line[2] and not _ROUND.fullmatch(line[2]):
        raise DataError(f"line {number}: last round {repr(line[2])} is not a round")
    client, first = int(line[0]), int(line[1])
    last = int(line[2]) if line[2] else FOREVER
    if not 1 <= first <= last:
        raise DataError(f"line {number}: rounds {first} to {last}: must rise from 1 on")
    return client, first, last
