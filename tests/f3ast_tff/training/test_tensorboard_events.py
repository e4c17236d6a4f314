"""TensorBoard events, read back from their records."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pytest

from f3ast_tff.training.metrics import COLUMNS
from f3ast_tff.training.tensorboard_events import TensorBoardEvents
from tests.f3ast_tff.training.event_file import scalars

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
from f3ast_tff.training.tensorboard_events import TensorBoardEvents
events = TensorBoardEvents(Path(sys.argv[1]), [])
events.add({"round": 3, "test_user_loss": 0.5})
events.close()
"""


def row(number: int, loss: float) -> dict[str, float]:
    return {**dict.fromkeys(COLUMNS, 1.5), "round": number, "train_loss": loss}


def test_every_finite_column_is_a_scalar_at_its_round(tmp_path: Path) -> None:
    events = TensorBoardEvents(tmp_path, [])
    events.add(row(10, 0.25))
    events.add(row(20, math.nan))
    events.close()
    found = scalars(tmp_path)
    assert found[10, "train_loss"] == 0.25
    assert (20, "train_loss") not in found
    assert {tag for step, tag in found if step == 10} == set(COLUMNS) - {"round"}
    assert {step for step, _ in found} == {10, 20}


def test_a_resumed_run_has_each_row_once(tmp_path: Path) -> None:
    """The interrupted run wrote rounds 10 and 20, but its checkpoint only knows of round 10."""
    before = TensorBoardEvents(tmp_path, [])
    before.add(row(10, 1.0))
    before.add(row(20, 2.0))
    before.close()
    (old,) = tmp_path.glob("events.out.tfevents.*")
    old.rename(tmp_path / "events.out.tfevents.1600000000.earlier")
    resumed = TensorBoardEvents(tmp_path, [row(10, 1.0)])
    resumed.add(row(20, 3.0))
    resumed.close()
    found = scalars(tmp_path)
    assert (found[10, "train_loss"], found[20, "train_loss"]) == (1.0, 3.0)


def test_rows_can_be_read_while_the_run_goes_on(tmp_path: Path) -> None:
    events = TensorBoardEvents(tmp_path, [])
    events.add(row(10, 0.25))
    assert scalars(tmp_path)[10, "train_loss"] == 0.25
    events.close()


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
    """Importing it takes seconds and prints; it is asked for here, and refused."""
    folder, said = said_without_tensorflow
    assert said == ""
    assert scalars(folder) == {(3, "test_user_loss"): 0.5}
