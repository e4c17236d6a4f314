"""The file from which a restarted server resumes; one server at a time holds it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from filelock import Timeout

from f3ast_tff.core.errors import CheckpointError
from f3ast_tff.files.array_files import read_npz, write_npz
from f3ast_tff.files.atomic import atomic_write
from f3ast_tff.files.data_files import open_regular
from f3ast_tff.files.locks import held
from f3ast_tff.records.checkpoint import Checkpoint


@dataclass(frozen=True)
class SavedRound:
    """State of the server after a round.

    Attributes:
        number: The round t.
        model: Arrays by name, in the order of the model.
        strategy: The result of `Strategy.state`.
    """

    number: int
    model: dict[str, np.ndarray]
    strategy: dict[str, np.ndarray]


def storable(value: np.ndarray) -> np.ndarray:
    """Returns an array as the file holds it: bfloat16, which NumPy's files lack, as `float32`."""
    return value.astype(np.float32) if value.dtype.kind == "V" else value


@contextmanager
def only_server(path: Path | None) -> Iterator[None]:
    """Holds the lock of a state file; it ends with this process in every case.

    Raises:
        CheckpointError: If another server holds it, or the folder cannot be written.
    """
    if path is None:
        yield
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = held(path.parent.resolve() / f".{path.name}.lock")
    except Timeout as error:
        raise CheckpointError(f"{path} is in use by another server") from error
    except OSError as error:
        raise CheckpointError(f"cannot write beside {path}: {error.strerror}") from error
    try:
        yield
    finally:
        lock.release()


def save_round(path: Path, saved: SavedRound) -> None:
    """Replaces the file atomically; a killed server leaves the previous file."""
    model = {f"model/{name}": storable(value) for name, value in saved.model.items()}
    strategy = {f"strategy/{name}": value for name, value in saved.strategy.items()}
    with atomic_write(path, "wb") as file:
        write_npz(file, {"round": np.array(saved.number), **model, **strategy})


def load_round(path: Path) -> SavedRound | None:
    """Returns the round written by `save_round`; `None` if there is no file.

    Raises:
        CheckpointError: If the file is damaged or has other content, such as a model that is not
            finite.
    """
    if not path.exists():
        return None
    try:
        with open_regular(path) as file:
            arrays = read_npz(file)
        number = arrays["round"]
        if number.shape or number.dtype.kind not in "iu" or number < 0:
            raise ValueError(f"its round is {number}: must be an integer, at least 0")
        for name, value in arrays.items():
            known = value.dtype.kind in "biuf"
            if not known or name.startswith("model/") and not np.isfinite(value).all():
                raise ValueError(f"its {name} is no array of finite numbers")
    except (KeyError, OSError, TypeError, ValueError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from error
    saved = Checkpoint(int(number), arrays, meta={})
    return SavedRound(int(number), saved.part("model"), saved.part("strategy"))
