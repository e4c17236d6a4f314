"""TensorBoard events of a run, written without TensorFlow."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from f3ast_tff.experiment.metrics import Row


class TensorBoardEvents:
    """Scalars of every metrics row, one step a round."""

    def __init__(self, folder: Path, rows: Sequence[Row]) -> None:
        """Starts a fresh event file that repeats `rows`, those of a resumed run."""
        for old in folder.glob("events.out.tfevents.*"):
            old.unlink()
        self._writer = EventFileWriter(str(folder))
        for row in rows:
            self.add(row)

    def add(self, row: Row) -> None:
        """Adds the finite values of a row."""
        values = [
            Summary.Value(tag=name, simple_value=value)
            for name, value in row.items()
            if name != "round" and math.isfinite(value)
        ]
        event = Event(wall_time=time.time(), step=int(row["round"]), summary=Summary(value=values))
        self._writer.add_event(event)

    def close(self) -> None:
        """Writes what is left."""
        self._writer.close()
