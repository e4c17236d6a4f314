"""Files of availability masks: a row per round and a column per client.

- `.csv`: zeros and ones separated by commas, no header.
- `.npy`: `bool [T, N]`; read in any boolean or numeric dtype.
- `.npz`: one array `[T, N]` of any name; or, as written here, the smaller of two forms. Packed:
  `packed`, `uint8 [T, ceil(N / 8)]`, with rows by `np.packbits`, and `shape`, `int64 [2]`. Sparse:
  a CSR matrix as `scipy.sparse.save_npz` writes it with `compressed=False`, for `load_npz`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr
from typing import Any

import numpy as np
from numpy.lib import format as npy

from f3ast_tff.core.errors import DataError
from f3ast_tff.files.array_files import load_npz, open_npy, write_npz
from f3ast_tff.files.atomic import atomic_write
from f3ast_tff.files.data_files import read_text
from f3ast_tff.settings.text_values import number_in

FORMS = (".csv", ".npy", ".npz")
# An index and a value of a CSR matrix, bytes.
_ENTRY_BYTES = 5
# Limit on the states of a sparse file, a bit each: the packed masks take at most 8 GiB.
_MAX_STATES = 2**36
# Limit on a sparse file with few entries: a file of a kilobyte may name any shape.
_FEW_STATES, _STATES_PER_ENTRY = 2**32, 1000
# Limit on the bytes in a compressed file of a few.
_UNPACKED = 2**29


@dataclass(frozen=True)
class PackedMasks:
    """Masks of rounds 1 .. T.

    Attributes:
        bits: The masks as bits, `uint8 [T, ceil(N / 8)]`, by `np.packbits`.
        shape: T and N, each at least 1.
    """

    bits: np.ndarray
    shape: tuple[int, int]

    @classmethod
    def of(cls, masks: Iterable[np.ndarray], shape: tuple[int, int]) -> PackedMasks:
        """Packs T masks, each `bool [N]`; `shape` is T and N."""
        bits = np.empty((shape[0], (shape[1] + 7) // 8), np.uint8)
        for t, mask in enumerate(masks):
            bits[t] = np.packbits(mask)
        return cls(bits, shape)

    def __iter__(self) -> Iterator[np.ndarray]:
        """Yields the mask of each round."""
        return (self.row(t) for t in range(1, self.shape[0] + 1))

    def row(self, round_number: int) -> np.ndarray:
        """Returns the mask of round t in 1 .. T, `bool [N]`, the caller's to change."""
        return np.unpackbits(self.bits[round_number - 1], count=self.shape[1]).view(bool)

    def table(self) -> np.ndarray:
        """Returns the masks of all rounds, `bool [T, N]`."""
        return np.unpackbits(self.bits, axis=1, count=self.shape[1]).view(bool)

    def mean(self) -> np.ndarray:
        """Returns the share of rounds in which each client is available, `float64 [N]`."""
        total = np.zeros(self.shape[1], np.int64)
        for mask in self:
            total += mask
        return total / self.shape[0]

    def of_clients(self, places: np.ndarray) -> PackedMasks:
        """Returns the masks of some clients only, in the order of `places`, `int [m]`."""
        return self.of((mask[places] for mask in self), (self.shape[0], len(places)))


def write_masks(path: Path, masks: Iterable[np.ndarray], shape: tuple[int, int]) -> None:
    """Writes a file of one of the forms above.

    Args:
        path: The file to make or replace, with an ending in `FORMS`.
        masks: T masks, one per round, each `bool [N]`.
        shape: T and N.

    Raises:
        OSError: If it cannot be written.
    """
    form = path.suffix.lower()
    with atomic_write(path, "wb") as file:
        if form == ".npz":
            write_npz(file, _smaller(masks, shape))
            return
        if form == ".npy":
            header: dict[str, Any] = {"descr": "|b1", "fortran_order": False, "shape": shape}
            npy.write_array_header_1_0(file, header)
        for mask in masks:
            file.write(mask.tobytes() if form == ".npy" else _line(mask))


def masks_digest(masks: PackedMasks) -> str:
    """Returns the SHA-256 of masks in hexadecimal, equal to `sha256sum` of their `.csv` file."""
    digest = hashlib.sha256()
    for mask in masks:
        digest.update(_line(mask))
    return digest.hexdigest()


def _line(mask: np.ndarray) -> bytes:
    line = np.full((len(mask), 2), ord(","), np.uint8)
    line[:, 0] = ord("0") + mask
    line[-1, 1] = ord("\n")
    return line.tobytes()


def _smaller(masks: Iterable[np.ndarray], shape: tuple[int, int]) -> dict[str, np.ndarray]:
    packed = PackedMasks.of(masks, shape)
    counts = [np.count_nonzero(mask) for mask in packed]
    total, size = sum(counts), np.array(shape, np.int64)
    if total * _ENTRY_BYTES >= packed.bits.nbytes:
        return {"packed": packed.bits, "shape": size}
    lists = [np.flatnonzero(mask) for mask in packed]
    index = np.int32 if max(*shape, total) < 2**31 else np.int64
    return {
        "indices": np.concatenate(lists).astype(index),
        "indptr": np.append(0, np.cumsum(counts)).astype(index),
        "format": np.array(b"csr"),
        "shape": size,
        "data": np.ones(total, bool),
    }


def read_masks(path: Path) -> PackedMasks:
    """Reads a file of one of the forms above; a CSV file has at most 256 MiB.

    Raises:
        DataError: If the file is missing or damaged, or has an entry other than 0 or 1; names it.
    """
    form = path.suffix.lower()
    if form not in FORMS:
        raise DataError(f"{path}: must end in .npy, .npz or .csv")
    if not path.is_file():
        raise DataError(f"{path}: there is no such file")
    try:
        if form == ".npz":
            return _of_arrays(load_npz(path, max(_UNPACKED, 2 * path.stat().st_size)))
        table = open_npy(path) if form == ".npy" else _numbers(read_text(path))
    except (OSError, ValueError, OverflowError) as error:
        raise DataError(f"{path}: not a table of zeros and ones: {error}") from error
    return packed_masks(table, str(path))


def packed_masks(table: np.ndarray, name: str) -> PackedMasks:
    """Returns the masks of a matrix, `[T, N]`, checked.

    Args:
        table: Zeros and ones, or booleans.
        name: Name in messages.

    Raises:
        DataError: If it is empty, or has an entry other than 0 or 1.
    """
    if table.ndim != 2 or 0 in table.shape:
        raise DataError(f"{name}: has shape {table.shape}, must be [rounds, clients], neither 0")
    if table.dtype.kind not in "biuf":
        raise DataError(f"{name}: dtype {table.dtype}: must be boolean or numeric")
    for t, row in enumerate(table):
        wrong = np.flatnonzero((row != 0) & (row != 1))
        if len(wrong):
            k = wrong[0]
            raise DataError(f"{name}: round {t + 1}, client {k} is {row[k]}: must be 0 or 1")
    return PackedMasks(np.packbits(table != 0, axis=1), (table.shape[0], table.shape[1]))


def _numbers(text: str) -> np.ndarray:
    lines = [line for line in text.splitlines() if line.strip()]
    rows = []
    for number, line in enumerate(lines, 1):
        row = np.array([_number(entry, number) for entry in line.split(",")])
        rows.append(row)
        if len(row) != len(rows[0]):
            raise ValueError(f"round {number} has {len(row)} entries, round 1 has {len(rows[0])}")
    return np.stack(rows) if rows else np.zeros((0, 0))


def _number(entry: str, round_number: int) -> float:
    try:
        return number_in(entry)
    except ValueError:
        raise ValueError(f"round {round_number} has {repr(entry)}") from None


def _of_arrays(arrays: dict[str, np.ndarray]) -> PackedMasks:
    if len(arrays) == 1:
        # One array of any name, as from `np.savez(file, masks)`.
        ((name, table),) = arrays.items()
        return packed_masks(table, f"its array {name!r}")
    found = arrays.get("shape")
    if found is None:
        raise ValueError(f"it has the arrays {', '.join(sorted(arrays))}: must have one")
    if found.shape != (2,) or found.dtype.kind not in "iu" or found.min() < 1:
        raise ValueError("its shape must be two integers, each at least 1")
    shape = int(found[0]), int(found[1])
    if "packed" in arrays:
        bits = arrays["packed"]
        if bits.dtype != np.uint8 or bits.shape != (shape[0], (shape[1] + 7) // 8):
            raise ValueError(f"its bits have shape {bits.shape}, not those of {shape}")
        return PackedMasks(bits, shape)
    if not {"indptr", "indices", "format", "data"} <= set(arrays):
        raise ValueError(f"it has {', '.join(sorted(arrays))}: neither packed nor a CSR matrix")
    return _of_csr(arrays, shape)


def _of_csr(arrays: dict[str, np.ndarray], shape: tuple[int, int]) -> PackedMasks:
    from scipy.sparse import csr_matrix  # type: ignore[import-untyped]

    if arrays["format"].shape != () or arrays["format"].item() not in (b"csr", "csr"):
        raise ValueError("its sparse format is not csr")
    most = min(_MAX_STATES, max(_FEW_STATES, _STATES_PER_ENTRY * arrays["data"].size))
    if shape[0] * shape[1] > most:
        raise ValueError(f"it has {shape[0]} x {shape[1]} states, more than {most}")
    parts = [arrays["data"]]
    for name in ("indices", "indptr"):
        array = arrays[name]
        if array.ndim != 1 or array.dtype.kind not in "iu":
            form = f"{array.dtype} {list(array.shape)}"
            raise ValueError(f"its {name} must be integers [n], not {form}")
        # SciPy takes only signed integers; values of uint64 that are in range are kept.
        parts.append(array.astype(np.int64) if array.dtype.kind == "u" else array)
    try:
        matrix = csr_matrix(tuple(parts), shape)
        matrix.check_format(full_check=True)
    except (TypeError, IndexError) as error:
        raise ValueError(str(error)) from error
    if not matrix.has_canonical_format:
        raise ValueError("the clients of a round must rise")
    if not np.all(matrix.data == 1):
        raise ValueError("it has another entry than 1")

    def rows() -> Iterator[np.ndarray]:
        for start, end in zip(matrix.indptr, matrix.indptr[1:]):
            mask = np.zeros(shape[1], bool)
            mask[matrix.indices[start:end]] = True
            yield mask

    return PackedMasks.of(rows(), shape)
