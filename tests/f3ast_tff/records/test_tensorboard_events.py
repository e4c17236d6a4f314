"""TensorBoard events, read back from their records without TensorFlow."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

from f3ast_tff.records.tensorboard_events import TensorBoardEvents


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


ROOT = Path(__file__).resolve().parents[3]
WITHOUT_TENSORFLOW = """
import sys
from pathlib import Path

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "tensorflow":
            print("tensorflow was asked for")
            raise ImportError(name)

sys.meta_path.insert(0, Refuse())
from f3ast_tff.records.tensorboard_events import TensorBoardEvents
events = TensorBoardEvents(Path(sys.argv[1]), {})
events.begin()
events.add(3, {"test/user_loss": 0.5})
events.close(finished=True)
"""


def test_every_scalar_is_at_its_round_after_what_was_before(tmp_path: Path) -> None:
    """The interrupted run wrote rounds 10 and 20, but its checkpoint only has round 10."""
    before = TensorBoardEvents(tmp_path, {})
    before.begin()
    before.add(10, {"train/loss": 1.0})
    before.add(20, {"train/loss": 2.0})
    before.close(finished=False)
    (old,) = tmp_path.glob("events.out.tfevents.*")
    old.rename(tmp_path / "events.out.tfevents.1600000000.earlier")
    resumed = TensorBoardEvents(tmp_path, {})
    resumed.begin()
    resumed.add(10, {"train/loss": 1.0})
    resumed.add(20, {"train/loss": 3.0, "rates/mean": 0.5})
    # Read before `close`: events are readable during a run.
    found = {key: value for key, value in scalars(tmp_path).items() if key[0]}
    resumed.close(finished=True)
    assert found == {(10, "train/loss"): 1, (20, "train/loss"): 3, (20, "rates/mean"): 0.5}


def test_settings_are_hparams(tmp_path: Path) -> None:
    events = TensorBoardEvents(tmp_path, {"task": "mnist", "rounds": 5, "pooled": True, "x": None})
    events.begin()
    events.close(finished=True)
    (content,) = hparams(tmp_path)
    assert {name: value.WhichOneof("kind") for name, value in content.items()} == {
        "task": "string_value",
        "rounds": "number_value",
        "pooled": "bool_value",
    }
    assert content["task"].string_value == "mnist" and content["rounds"].number_value == 5


@pytest.fixture(scope="module")
def said_without_tensorflow(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("events")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TENSORFLOW, str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return folder, done.stdout + done.stderr


def test_tensorflow_is_not_imported(said_without_tensorflow: tuple[Path, str]) -> None:
    """Importing it takes seconds and prints; here the import is requested, and refused."""
    folder, said = said_without_tensorflow
    assert said == ""
    assert scalars(folder)[3, "test/user_loss"] == 0.5
