"""Reads TensorBoard's event files, without TensorFlow."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData


def events(folder: Path) -> list[Event]:
    """Returns all records; each is its length, a check sum, its bytes, a check sum."""
    (path,) = folder.glob("events.out.tfevents.*")
    content, start, found = path.read_bytes(), 0, []
    while start < len(content):
        (length,) = struct.unpack_from("<Q", content, start)
        found.append(Event.FromString(content[start + 12 : start + 12 + length]))
        start += 12 + length + 4
    assert start == len(content)
    return found


def scalars(folder: Path) -> dict[tuple[int, str], float]:
    """Returns values by (step, tag)."""
    found: dict[tuple[int, str], float] = {}
    for event in events(folder):
        for value in event.summary.value:
            assert (event.step, value.tag) not in found
            found[event.step, value.tag] = value.simple_value
    return found


def hparams(folder: Path) -> list[dict[str, Any]]:
    """Returns the settings of each session in the file, as protobuf values by name."""
    found = []
    for event in events(folder):
        for value in event.summary.value:
            if value.tag == "_hparams_/session_start_info":
                data = HParamsPluginData.FromString(value.metadata.plugin_data.content)
                found.append(dict(data.session_start_info.hparams))
    return found
