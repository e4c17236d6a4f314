"""TensorBoard events of a run, written without TensorFlow."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path

# Not EventFileWriter, which imports TensorFlow where there is one.
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

from f3ast_tff.training.metrics import Row


class TensorBoardEvents:
    """Scalars of every metrics row, one step a round."""

    def __init__(self, folder: Path, rows: Sequence[Row]) -> None:
        """Starts a fresh event file that repeats `rows`, those of a resumed run."""
        for old in folder.glob("events.out.tfevents.*"):
            old.unlink()
        now = time.time()
        self._file = open(folder / f"events.out.tfevents.{int(now)}.run", "wb")  # noqa: SIM115
        self._records = RecordWriter(self._file)
        self._write(Event(wall_time=now, file_version="brain.Event:2"))
        for row in rows:
            self.add(row)

    def add(self, row: Row) -> None:
        """Adds the finite values of a row."""
        values = [
            Summary.Value(tag=name, simple_value=value)
            for name, value in row.items()
            if name != "round" and math.isfinite(value)
        ]
        summary = Summary(value=values)
        self._write(Event(wall_time=time.time(), step=int(row["round"]), summary=summary))

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def _write(self, event: Event) -> None:
        self._records.write(event.SerializeToString())
        self._file.flush()
