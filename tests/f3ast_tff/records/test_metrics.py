"""Rows of `metrics.csv` and their summary; TensorBoard's events, read back without TensorFlow."""

from __future__ import annotations

import csv
import math
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

from f3ast_tff.engines import EMPTY_ROUND, ClientScores, RoundOutcome
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.records.delivered import RoundDelivery
from f3ast_tff.records.history import Totals
from f3ast_tff.records.metrics import COLUMNS, append_csv, metrics_row, summarise, write_csv
from f3ast_tff.records.tensorboard_events import TensorBoardEvents


def row(number: int, loss: float = 0.0) -> dict[str, float]:
    return {**dict.fromkeys(COLUMNS, 1.5), "round": number, "train_loss": loss}


def read_rows(path: Path) -> list[dict[str, str]]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_sample_and_user_means_by_hand() -> None:
    """Two clients of 10 and 30 examples with 5 and 27 correct, and one without examples.

    Over examples the accuracy is 32 / 40 = 0.8; over clients (0.5 + 0.9) / 2 = 0.7. Losses 20 and
    30 give 50 / 40 = 1.25 and (2 + 1) / 2 = 1.5.
    """
    scores = ClientScores(
        np.array([20.0, 30.0, 0.0]), np.array([5.0, 27.0, 0.0]), np.array([10.0, 30.0, 0.0])
    )
    delivered = np.array([True, True, False])
    cohort = Cohort(np.array([1, 2]), np.ones(2))
    delivered_round = RoundDelivery(7, np.array([1, 2, 5]), delivered, cohort, 60.0, 30, 20)
    total = Totals(90, 80, 240.0)
    got = metrics_row(4, scores, RoundOutcome(0.25, 3.0), delivered_round, total, 1.23456)
    assert tuple(got) == COLUMNS
    assert list(got.values()) == [4, 0.25, 0.8, 1.25, 0.7, 1.5, 7, 3, 2, 90, 80, 240.0, 3.0, 1.235]


def test_empty_round_has_no_training_loss() -> None:
    scores = ClientScores(np.ones(1), np.ones(1), np.ones(1))
    nobody = Cohort(np.zeros(0, int), np.zeros(0))
    delivered_round = RoundDelivery(0, nobody.ids, np.zeros(0, bool), nobody, math.nan, 0, 0)
    got = metrics_row(1, scores, EMPTY_ROUND, delivered_round, Totals(0, 0, math.nan), 0.0)
    assert math.isnan(got["train_loss"]) and math.isnan(got["simulated_seconds"])
    assert (got["num_selected"], got["num_delivered"], got["update_norm"]) == (0, 0, 0)


def test_csv_written_appended_and_written_over(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    write_csv(path, [row(1), row(2, 1 / 3)])
    append_csv(path, row(3, math.nan))
    rows = read_rows(path)
    assert tuple(rows[0]) == COLUMNS
    assert [r["round"] for r in rows] == ["1", "2", "3"]
    assert float(rows[1]["train_loss"]) == 1 / 3
    assert math.isnan(float(rows[2]["train_loss"]))
    write_csv(path, [row(1)])
    assert len(read_rows(path)) == 1
    assert b"\r" not in path.read_bytes()


@pytest.mark.parametrize(("number", "averaged"), [(1, 1), (9, 1), (10, 1), (20, 2), (100, 10)])
def test_summary_averages_the_last_tenth(number: int, averaged: int) -> None:
    """Losses 1..n; the mean of the last m is n - (m - 1) / 2."""
    summary = summarise([row(i, float(i)) for i in range(1, number + 1)])
    assert summary["evaluations_averaged"] == averaged
    means = summary["mean_of_last_10_percent"]
    assert means["train_loss"] == number - (averaged - 1) / 2
    assert means["test_user_loss"] == 1.5
    sums = {"bytes_down", "bytes_up", "simulated_seconds", "wall_seconds"}
    assert set(COLUMNS) - set(means) == {"round", *sums}
    assert summary["final"]["round"] == number


@pytest.mark.parametrize("score", [math.nan, math.inf])
@pytest.mark.parametrize("column", [name for name in COLUMNS if name.startswith("test_")])
def test_a_score_that_is_not_finite_is_not_left_out(column: str, score: float) -> None:
    """A diverged run has no mean, whatever its earlier scores."""
    rows = [row(i) for i in range(1, 31)]
    rows[-2][column] = score
    means = summarise(rows)["mean_of_last_10_percent"]
    assert math.isnan(means.pop(column))
    assert not any(map(math.isnan, means.values()))


def test_rounds_without_a_loss_do_not_enter_its_mean() -> None:
    """The last two of 20 evaluations are 19 and an empty round's NaN."""
    rows = [row(i, float(i)) for i in range(1, 20)] + [row(20, math.nan)]
    assert summarise(rows)["mean_of_last_10_percent"]["train_loss"] == 19
    assert math.isnan(summarise(rows[-1:])["mean_of_last_10_percent"]["train_loss"])


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
