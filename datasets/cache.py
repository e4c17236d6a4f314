"""Prepared data on disk: made once, then opened as memory-mapped arrays.

A folder `<data_dir>/prepared/<name>-<hash of the key>/` holds one `.npy` file per array, and
`meta.json`. The folder appears complete or not at all. Processes that open it share its memory
pages. Each opening checks every array against its SHA-256.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from f3ast_tff.core.errors import DataError
from f3ast_tff.core.federated_data import ClientExamples, FederatedData
from f3ast_tff.files.array_files import open_npy
from f3ast_tff.files.atomic import atomic_write, made_folder
from f3ast_tff.files.data_files import hash_of, read_json

_LOGGER = logging.getLogger(__name__)

FORMAT = 2
_META = "meta.json"
_PARTS = ("train", "test")
_COLUMNS = ("features", "labels", "offsets")
_MAX_META_BYTES = 2**20
_CHECKSUM = "sha256"


def prepared(
    data_dir: Path,
    name: str,
    key: Mapping[str, int | float | str],
    prepare: Callable[[], FederatedData],
) -> FederatedData:
    """Opens prepared data; prepares it first if needed.

    If several processes ask for the same data at once, one prepares it while the rest wait.

    Args:
        data_dir: The data folder; made if missing.
        name: Name of the data set, the first part of the folder's name.
        key: All values that decide the content (settings, seed, ...).
        prepare: Makes the data; called at most once, and only if there is no prepared folder.

    Returns:
        The data, its arrays read-only views of memory-mapped files.

    Raises:
        DataError: If the prepared folder is damaged, or `data_dir` cannot be written; names it.
    """
    content = json.loads(json.dumps(dict(key), allow_nan=False))
    digest = hashlib.sha256(json.dumps([FORMAT, name, content], sort_keys=True).encode())
    parent = Path(data_dir) / "prepared"
    folder = parent / f"{name}-{digest.hexdigest()[:12]}"
    if not folder.exists():
        with _alone(parent, folder.name):
            if not folder.exists():
                data = prepare()
                with _refused_writes(parent):
                    _write(folder, name, content, data)
    return _open(folder, name, content)


def _write(folder: Path, name: str, key: Mapping[str, Any], data: FederatedData) -> None:
    partial = folder.with_name(f".{folder.name}.partial")
    # A leftover of a killed process: only the holder of the lock writes here.
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    arrays = {
        f"{part}.{column}": np.ascontiguousarray(getattr(getattr(data, part), column))
        for part in _PARTS
        for column in _COLUMNS
    }
    for array_name, array in arrays.items():
        with atomic_write(partial / f"{array_name}.npy", "wb") as file:
            np.save(file, array, allow_pickle=False)
    meta: dict[str, Any] = {
        "format": FORMAT,
        "name": name,
        "key": key,
        "num_classes": data.num_classes,
        "arrays": {
            array_name: {"shape": array.shape, "dtype": array.dtype.str, "sha256": _sha256(array)}
            for array_name, array in arrays.items()
        },
    }
    meta[_CHECKSUM] = _checksum(meta)
    with atomic_write(partial / _META) as file:
        file.write(json.dumps(meta, indent=2) + "\n")
    os.rename(partial, folder)


def _open(folder: Path, name: str, key: Mapping[str, Any]) -> FederatedData:
    try:
        meta = read_json(folder / _META, _MAX_META_BYTES)
        if meta[_CHECKSUM] != _checksum(meta):
            raise ValueError(f"{_META} has another checksum")
        for field, value in (("format", FORMAT), ("name", name), ("key", key)):
            if meta[field] != value:
                raise ValueError(f"{_META} has {field} {meta[field]}, not {value}")
        train, test = (
            ClientExamples(*(_open_array(folder, f"{p}.{c}", meta["arrays"]) for c in _COLUMNS))
            for p in _PARTS
        )
        return FederatedData(train, test, int(meta["num_classes"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        what = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else error
        raise DataError(
            f"{folder} is damaged ({what}); delete that folder and it is prepared again"
        ) from error


def _open_array(folder: Path, array_name: str, arrays: Mapping[str, Any]) -> np.ndarray:
    path = folder / f"{array_name}.npy"
    expected = arrays[array_name]
    try:
        mapped = open_npy(path)
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from error
    found = (list(mapped.shape), mapped.dtype.str)
    if found != (expected["shape"], expected["dtype"]):
        raise ValueError(f"{path.name} holds {found}")
    # Hash the file, not the mapped array: pages of the map would count as this process's memory.
    if hash_of(path, start=mapped.offset) != expected["sha256"]:
        raise ValueError(f"{path.name} has another checksum")
    # A plain view: indexing an `np.memmap` costs some microseconds more per client.
    return np.asarray(mapped)


def _sha256(array: np.ndarray) -> str:
    return hashlib.sha256(array.reshape(-1).view(np.uint8).data).hexdigest()


def _checksum(meta: Mapping[str, Any]) -> str:
    """The checksum of `meta.json`, without its entry for the checksum."""
    content = {name: value for name, value in meta.items() if name != _CHECKSUM}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@contextmanager
def _alone(parent: Path, name: str) -> Iterator[None]:
    """Makes `parent` and holds the lock of one name in it; waits while another process holds it."""
    # Imported here, so that importing data sets needs NumPy only.
    from filelock import FileLock, Timeout

    path, first = parent / f".{name}.lock", not parent.exists()
    lock = FileLock(path)
    with ExitStack() as stack:
        with _refused_writes(parent):
            stack.enter_context(made_folder(parent))
            try:
                lock.acquire(blocking=False)
            except Timeout:
                _LOGGER.warning("another process prepares %s: waiting for it", parent / name)
                lock.acquire()
        stack.callback(lock.release)
        try:
            yield
        except BaseException:
            if first:
                # The folder is new and has no data: without the lock file it is removed.
                path.unlink(missing_ok=True)
            raise


@contextmanager
def _refused_writes(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataError(f"cannot write to {folder}: {error.strerror}") from error
