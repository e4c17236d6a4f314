"""Runs played again: equal, or the first round and result that differ, or why not."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from f3ast_tff import FederatedData, simulate
from f3ast_tff.core.errors import Interrupted
from f3ast_tff.files.signals import NeverStop
from f3ast_tff.records.checkpoint import CheckpointStore
from f3ast_tff.records.results import read_summary, seal, without_seal
from f3ast_tff.records.run_folder import run_id_of
from f3ast_tff.run.verify import CANNOT, DIFFERS, EQUAL, Verified, first_different_row, verify

SMALL: dict[str, Any] = {
    "engine": "host",
    "num_clients": 8,
    "clients_per_round": 3,
    "rounds": 6,
    "eval_every": 2,
    "checkpoint_every": 2,
    "keep_checkpoints": 2,
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 6 rounds, with checkpoints of rounds 4 and 6."""
    folder = tmp_path_factory.mktemp("kept") / "run"
    simulate(algorithm="f3ast", folder=folder, **SMALL)
    return folder


@pytest.fixture
def run(kept: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(kept, tmp_path / "run"))


def played(folder: Path, first: int = 1, last: int | None = None) -> Verified:
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    found = verify(folder, first, last, NeverStop())
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
    return found


def sealed(folder: Path) -> None:
    """Seals changed results, as another version would have written them."""
    summary = without_seal(read_summary(folder) or {})
    (folder / "summary.json").write_text(json.dumps(seal(folder, summary)))


def with_other_loss(folder: Path, number: int) -> None:
    path = folder / "metrics.csv"
    head, *lines = path.read_text().splitlines()
    place = head.split(",").index("test_user_loss")
    for n, line in enumerate(lines):
        cells = line.split(",")
        if cells[0] == str(number):
            cells[place] = "9.5"
        lines[n] = ",".join(cells)
    path.write_text("\n".join([head, *lines, ""]))
    sealed(folder)


def with_other_selection(folder: Path, number: int) -> None:
    path = folder / "selection.npz"
    with np.load(path) as file:
        arrays = dict(file)
    arrays["selected"][number - 1, 0] = 99
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    path.write_bytes(content.getvalue())
    sealed(folder)


def with_other_weights(folder: Path, number: int) -> None:
    identity = json.loads((folder / "config.json").read_text())["identity"]
    store = CheckpointStore(folder / "checkpoints", run_id_of(identity))
    old = store.load_newest(number + 1)
    assert old is not None and old.round_number == number
    name = sorted(old.arrays)[0]
    assert name.startswith("engine/")
    store.save(replace(old, arrays={**old.arrays, name: old.arrays[name] + np.float32(0.5)}))


@pytest.mark.parametrize(
    "settings",
    [
        {"algorithm": "scaffold"},
        {"algorithm": "fedbuff", "delivery": "asynchronous"},
        {"algorithm": "f3ast", "delivery": "late"},
        {"algorithm": "fedavg", "client_scores": True, "write_masks": "csv", "client_lr": 0.1},
    ],
    ids=lambda settings: "-".join(map(str, settings.values())),
)
def test_equal(settings: dict[str, Any], tmp_path: Path) -> None:
    simulate(folder=tmp_path / "run", **SMALL, **settings)
    assert played(tmp_path / "run") == Verified(tmp_path / "run", EQUAL, "rounds 1 to 6")


@pytest.mark.parametrize(
    ("change", "number", "said"),
    [
        (with_other_loss, 4, "from round 4 on: test_user_loss is 1."),
        (with_other_selection, 3, "from round 3 on: selected differs in 1 of 3 values;"),
        (with_other_weights, 6, "from round 6 on: engine/"),
    ],
)
def test_the_first_round_that_differs(
    change: Callable[[Path, int], None], number: int, said: str, run: Path
) -> None:
    change(run, number)
    found = played(run)
    assert found.verdict == DIFFERS and said in found.said
    assert "versions, cores and data are the same" in found.said or "changed: " in found.said


@pytest.mark.parametrize(
    ("first", "last", "verdict"),
    [
        (1, None, DIFFERS),
        (1, 1, EQUAL),
        (1, 2, DIFFERS),
        (2, 4, DIFFERS),
        (3, 6, EQUAL),
        (5, 6, EQUAL),
    ],
)
def test_a_range_of_rounds(first: int, last: int | None, verdict: str, run: Path) -> None:
    with_other_loss(run, 2)
    assert played(run, first, last).verdict == verdict


def test_a_range_is_played_from_the_checkpoint_before_it(run: Path) -> None:
    """Other weights at round 4 make other rounds 5 and 6; from the start they are as recorded."""
    with_other_weights(run, 4)
    assert "from round 6 on" in played(run, 5).said
    assert "from round 4 on: engine/" in played(run).said


def test_what_has_changed_is_named(run: Path) -> None:
    path = run / "config.json"
    config = json.loads(path.read_text())
    config["packages"]["numpy"] = "0.1"
    config["cores"] = [1000]
    path.write_text(json.dumps(config))
    with_other_loss(run, 6)
    for first in (1, 5):
        said = played(run, first).said
        assert f"changed: numpy 0.1 is now {np.__version__}; " in said
        assert "1000 cores are now" in said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c["settings"].update(client_lr=-1.0), "client_lr"),
        (
            lambda c: c["identity"].update(code="old"),
            "code 'old', now None. It cannot be the same run",
        ),
        (
            lambda c: c["plugins"].append({"name": "x", "source": ""}),
            "objects were given in Python",
        ),
        (lambda c: c["plugins"].append({"name": "x", "source": "none.py"}), "none.py"),
        (lambda c: c.pop("identity"), "made by an older version"),
    ],
)
def test_cannot_be_played(change: Callable[[Any], Any], said: str, run: Path) -> None:
    path = run / "config.json"
    config = json.loads(path.read_text())
    change(config)
    path.write_text(json.dumps(config))
    found = played(run)
    assert found.verdict == CANNOT and said in found.said


def test_a_damaged_result_is_no_difference(run: Path) -> None:
    path = run / "metrics.csv"
    path.write_text(path.read_text().replace("2,", "3,", 1))
    assert played(run).verdict == CANNOT
    assert "another SHA-256" in played(run).said


def test_an_unfinished_run(run: Path) -> None:
    for name in ("summary.json", "selection.npz"):
        (run / name).unlink()
    (run / "checkpoints" / "round_00000006.npz").unlink()
    assert played(run).verdict == EQUAL


def test_a_request_to_stop_ends_it(run: Path) -> None:
    class Now(NeverStop):
        def requested(self) -> bool:
            return True

    with pytest.raises(Interrupted):
        verify(run, 1, None, Now())


def test_rounds_without_a_record(run: Path) -> None:
    assert played(run, 7).said == "it has no record of round 7"


def test_data_given_in_python_are_not_in_the_record(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"client": np.arange(16) % 4, "x": np.arange(16.0), "y": np.arange(16) % 2}
    )
    data = FederatedData.from_frame(frame, client="client", label="y")
    settings = {**SMALL, "num_clients": None, "clients_per_round": 2}
    simulate(data, algorithm="fedavg", folder=tmp_path / "run", **settings)
    assert "objects were given in Python" in played(tmp_path / "run").said


@pytest.mark.parametrize(
    ("then", "now", "tolerance", "number"),
    [
        ({2: {"a": 1.0}}, {2: {"a": 1.0}}, 0.0, None),
        ({2: {"a": 1.0}}, {2: {"a": 1.0 + 1e-9}}, 0.0, 2),
        ({2: {"a": 1.0}}, {2: {"a": 1.0 + 1e-6}}, 1e-5, None),
        ({2: {"a": 1.0}, 4: {"a": 2.0}}, {2: {"a": 1.0}}, 1e-5, 4),
        ({2: {"a": float("nan")}}, {2: {"a": float("nan")}}, 0.0, None),
        ({2: {"a": float("inf")}}, {2: {"a": 1.0}}, 1e-5, 2),
    ],
)
def test_rows(
    then: dict[int, Any], now: dict[int, Any], tolerance: float, number: int | None
) -> None:
    found = first_different_row(then, now, tolerance)
    assert (None if found is None else found.round_number) == number
