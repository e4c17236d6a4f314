"""Checkpoints of a run: `.npz` files with their SHA-256, written atomically.

`save` of `f3ast_tff/run/round_loop.py` puts the arrays together, by part:

- `engine`: the model, the server optimizer and the memories; `Engine.state`.
- `scored`: the scored model if it is not the server's; `Engine.scored_weights`.
- `strategy`: what selection remembers, such as r(t); `f3ast_tff.core.saved_state`.
- `history`, `rates`: the record of all rounds, and r(t) of some; `f3ast_tff/records/history.py`.
- `in_flight`: updates under way; `f3ast_tff/run/in_flight.py`.

`meta` holds the rows of metrics, the seconds so far, and digests of the clients' scores.
Availability, delivery and batches are functions of (seed, round, client): nothing of them is kept.
`f3ast_tff/records/run_folder.py` opens the folder and finds the newest checkpoint that is whole.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from f3ast_tff.core.errors import CheckpointError
from f3ast_tff.files.array_files import read_npz, write_npz
from f3ast_tff.files.atomic import atomic_write
from f3ast_tff.files.data_files import open_regular

_LOG = logging.getLogger(__name__)

_FORMAT = "f3ast-tff checkpoint 1"
KEPT_WHILE_RUNNING = 2
_DIGEST_BYTES = 32
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class Checkpoint:
    """The state of a run after a round.

    Attributes:
        round_number: The last completed round.
        arrays: State of each part; names start with the part, as in `"engine/..."`.
        meta: Further state, as JSON values.
    """

    round_number: int
    arrays: dict[str, np.ndarray]
    meta: dict[str, Any]

    def part(self, name: str) -> dict[str, np.ndarray]:
        """Returns the arrays of one part, without its prefix."""
        prefix = f"{name}/"
        found = {k: v for k, v in self.arrays.items() if k.startswith(prefix)}
        return {k[len(prefix) :]: v for k, v in found.items()}


class CheckpointStore:
    """The checkpoints of one run; the newest two are kept while it runs."""

    def __init__(self, folder: Path, run_id: str) -> None:
        """Opens the folder; makes it if missing.

        Args:
            folder: Folder of the checkpoints.
            run_id: Digest of the run's settings; checkpoints with another digest are refused.
        """
        self._folder = folder
        self._run_id = run_id
        folder.mkdir(exist_ok=True)

    def save(self, checkpoint: Checkpoint) -> Path:
        """Writes a checkpoint, then removes all except this and the previous checkpoint."""
        header = {
            "format": _FORMAT,
            "run_id": self._run_id,
            "round": checkpoint.round_number,
            "meta": checkpoint.meta,
        }
        path = self._folder / f"round_{checkpoint.round_number:08d}.npz"
        with atomic_write(path, "wb") as file:
            hashed: Any = _Hashed(file)
            arrays = {"header": np.array(json.dumps(header)), **checkpoint.arrays}
            write_npz(hashed, arrays)
            # After the end of the zip, where np.load does not read.
            file.write(hashed.sha256.digest())
        self.keep(KEPT_WHILE_RUNNING)
        return path

    def keep(self, newest: int) -> None:
        """Removes all checkpoints except the `newest` last ones."""
        paths = self._paths()
        for old in paths[: max(0, len(paths) - newest)]:
            old.unlink()

    def load_newest(self, before: float = math.inf) -> Checkpoint | None:
        """Returns the newest sound checkpoint; names and skips damaged checkpoints.

        Args:
            before: Round from which on checkpoints do not count.

        Returns:
            The checkpoint, or `None` if there is no checkpoint file at all.

        Raises:
            CheckpointError: If there are checkpoint files but none is sound; gives all reasons.
        """
        reasons = []
        for path in reversed(self._paths()):
            try:
                checkpoint = self._load(path)
                if checkpoint.round_number < before:
                    return checkpoint
            except CheckpointError as error:
                _LOG.warning("%s; trying the one before", error)
                reasons.append(str(error))
        if reasons:
            raise CheckpointError(
                "; ".join(reasons) + f". Remove {self._folder} to start the run over"
            )
        return None

    def _paths(self) -> list[Path]:
        return sorted(self._folder.glob("round_*.npz"))

    def _load(self, path: Path) -> Checkpoint:
        try:
            with open_regular(path) as file:
                if not _is_whole(file):
                    raise ValueError("its checksum is another one")
                arrays = read_npz(file)
        except OSError as error:
            raise CheckpointError(f"checkpoint {path} cannot be read ({error.strerror})") from error
        except ValueError as error:
            raise CheckpointError(
                f"checkpoint {path} is damaged, or not a checkpoint at all ({error})"
            ) from error
        try:
            header = json.loads(str(arrays.pop("header")))
            form, run_id = header["format"], header["run_id"]
            round_number, meta = int(header["round"]), dict(header["meta"])
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise CheckpointError(f"checkpoint {path} has no header of a checkpoint") from error
        if form != _FORMAT:
            raise CheckpointError(f"checkpoint {path} is not of the format '{_FORMAT}'")
        if run_id != self._run_id:
            raise CheckpointError(f"checkpoint {path} belongs to a run with other settings")
        return Checkpoint(round_number, arrays, meta)


class _Hashed:
    """Writes to a file and hashes the bytes, without a second copy of a large state in memory.

    It has no `seek`, so written bytes never change. It has `read`, by which NumPy distinguishes a
    file from a path.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.sha256 = hashlib.sha256()

    def write(self, data: Any) -> int:
        self.sha256.update(data)
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()

    def read(self, size: int = -1) -> bytes:
        raise OSError("write-only")


def is_whole(path: Path) -> bool:
    """Returns whether a file of a checkpoint can be read and has its checksum."""
    try:
        with open_regular(path) as file:
            return _is_whole(file)
    except (OSError, ValueError):
        return False


def _is_whole(file: IO[bytes]) -> bool:
    """Whether the last bytes of a file are the hash of the preceding bytes."""
    left = file.seek(0, 2) - _DIGEST_BYTES
    file.seek(0)
    sha256 = hashlib.sha256()
    while left > 0:
        chunk = file.read(min(left, _CHUNK_BYTES))
        if not chunk:
            return False
        sha256.update(chunk)
        left -= len(chunk)
    return file.read() == sha256.digest()
