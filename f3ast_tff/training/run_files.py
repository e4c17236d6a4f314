"""What a run writes to its folder as it goes, and reads back when it goes on."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from f3ast_tff.atomic import atomic_write
from f3ast_tff.training.checkpoint import Checkpoint, CheckpointStore
from f3ast_tff.training.metrics import Row, append_csv, write_csv
from f3ast_tff.training.run_folder import RunFolder

if TYPE_CHECKING:
    from f3ast_tff.training.tensorboard_events import TensorBoardEvents


class RunFiles:
    """`metrics.csv`, TensorBoard events, checkpoints, `selection.npz` and `summary.json`."""

    def __init__(self, folder: RunFolder) -> None:
        """Opens the checkpoints of a folder."""
        self._folder = folder
        self._store = CheckpointStore(folder.file("checkpoints"), folder.run_id)
        self._events: TensorBoardEvents | None = None

    def load(self) -> Checkpoint | None:
        """Returns the newest sound checkpoint; see `CheckpointStore.load_newest`."""
        return self._store.load_newest()

    def begin(self, rows: Sequence[Row]) -> None:
        """Starts `metrics.csv` and the events anew, with the rows of a resumed run."""
        write_csv(self._folder.file("metrics.csv"), rows)
        if importlib.util.find_spec("tensorboard") is None:
            logging.warning("tensorboard is not installed: no event files are written")
            return
        from f3ast_tff.training.tensorboard_events import TensorBoardEvents

        self._events = TensorBoardEvents(self._folder.path, rows)

    def add(self, row: Row) -> None:
        """Adds the row of an evaluated round."""
        append_csv(self._folder.file("metrics.csv"), row)
        if self._events is not None:
            self._events.add(row)

    def save(self, checkpoint: Checkpoint) -> None:
        """Writes a checkpoint."""
        self._store.save(checkpoint)

    def finish(self, selection: Mapping[str, np.ndarray], summary: Mapping[str, Any]) -> None:
        """Writes `selection.npz`, then `summary.json`, which marks the run as finished."""
        with atomic_write(self._folder.file("selection.npz"), "wb") as file:
            np.savez_compressed(file, **selection)
        self._folder.write_json("summary.json", dict(summary))

    def summary(self) -> dict[str, Any] | None:
        """Returns the summary of a run that has finished before; `None` if it has not."""
        return self._folder.read_json("summary.json")

    def close(self) -> None:
        """Closes the events."""
        if self._events is not None:
            self._events.close()
