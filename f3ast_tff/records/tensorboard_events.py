"""TensorBoard events of a run, written without TensorFlow."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# Not EventFileWriter, which imports TensorFlow if installed.
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData
from tensorboard.summary.writer.record_writer import RecordWriter

from f3ast_tff.files.atomic import naming

_HPARAMS_TAG = "_hparams_/session_start_info"


class TensorBoardEvents:
    """Scalars of the evaluated rounds, one step per round, and the settings as hparams."""

    def __init__(self, folder: Path, settings: Mapping[str, Any]) -> None:
        """Takes the run's folder and its settings by name."""
        self._folder = folder
        self._settings = settings
        self._file: Any = None
        self._records: Any = None

    def begin(self) -> None:
        """Starts a fresh event file."""
        for old in self._folder.glob("events.out.tfevents.*"):
            old.unlink()
        now = time.time()
        self._file = open(self._folder / f"events.out.tfevents.{int(now)}.run", "wb")  # noqa: SIM115
        self._records = RecordWriter(self._file)
        self._write(Event(wall_time=now, file_version="brain.Event:2"))
        self._write(Event(wall_time=now, summary=_hparams(self._settings, now)))

    def add(self, round_number: int, scalars: Mapping[str, float]) -> None:
        values = [Summary.Value(tag=tag, simple_value=value) for tag, value in scalars.items()]
        summary = Summary(value=values)
        self._write(Event(wall_time=time.time(), step=round_number, summary=summary))

    def close(self, finished: bool) -> None:
        if self._file is not None:
            with naming(Path(self._file.name)):
                self._file.close()

    def _write(self, event: Event) -> None:
        with naming(Path(self._file.name)):
            self._records.write(event.SerializeToString())
            self._file.flush()


def _hparams(settings: Mapping[str, Any], started: float) -> Summary:
    """The summary from which TensorBoard's HParams page reads the settings."""
    content = HParamsPluginData(version=0)
    info = content.session_start_info
    info.start_time_secs = started
    for name, value in settings.items():
        if isinstance(value, bool):
            info.hparams[name].bool_value = value
        elif isinstance(value, (int, float)):
            info.hparams[name].number_value = value
        elif isinstance(value, str):
            info.hparams[name].string_value = value
    plugin = SummaryMetadata.PluginData(plugin_name="hparams", content=content.SerializeToString())
    metadata = SummaryMetadata(plugin_data=plugin)
    return Summary(value=[Summary.Value(tag=_HPARAMS_TAG, metadata=metadata)])
