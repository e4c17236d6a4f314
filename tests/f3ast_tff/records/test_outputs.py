"""Outputs that can be added to a finished run, and outputs that cannot."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.availability.logs.mask_files import read_masks
from f3ast_tff.core.errors import RunFolderError
from f3ast_tff.records.outputs import lacks_outputs, not_added, read_client_scores, scores_file
from f3ast_tff.records.results import DamagedResult, sound_summary
from f3ast_tff.records.run_folder import RunFolder
from f3ast_tff.run.begun import add_outputs
from f3ast_tff.run.run_experiment import run_experiment
from f3ast_tff.settings.configuration import Configuration
from f3ast_tff.settings.resolve import resolve
from tests.fake_engine import use_fake_engine

ROUNDS, N = 6, 8


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunFolder]:
    """A finished run of six rounds and eight clients, with two checkpoints."""
    use_fake_engine(monkeypatch)
    wanted = configuration(tmp_path, keep_checkpoints=2)
    run_experiment(wanted, wanted.folder)
    with closing(RunFolder(tmp_path / "x", wanted.identity)) as opened:
        yield opened


def configuration(tmp_path: Path, **given: Any) -> Configuration:
    small = {"num_clients": N, "clients_per_round": 3, "rounds": ROUNDS, "checkpoint_every": 2}
    where = {"output_dir": str(tmp_path), "run_name": "x", "logger": "csv"}
    return resolve({**small, **where, **given})


def left_out(folder: RunFolder, wanted: Configuration) -> list[str]:
    recorded = (folder.config() or {})["settings"]
    return not_added(folder.path, wanted, recorded)


@pytest.mark.parametrize("form", ["csv", "npy", "npz"])
def test_masks_are_those_of_the_run(form: str, folder: RunFolder, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in tmp_path.glob("x/*.*")}
    del before[tmp_path / "x/summary.json"]
    wanted = configuration(tmp_path, write_masks=form, keep_checkpoints=2)
    assert lacks_outputs(folder.path, wanted.settings.run)
    add_outputs(folder, wanted)
    assert not lacks_outputs(folder.path, wanted.settings.run)
    assert sound_summary(folder.path) is not None
    masks = read_masks(folder.file(f"masks.{form}"))
    assert masks.shape == (ROUNDS, N)
    with np.load(folder.file("selection.npz")) as selection:
        for t in range(1, ROUNDS + 1):
            assert masks.row(t).sum() == selection["num_available"][t - 1]
            assert masks.row(t)[selection["selected"][t - 1]].all()
    assert all(path.read_bytes() == content for path, content in before.items())
    folder.file(f"masks.{form}").write_bytes(b"0")
    with pytest.raises(DamagedResult, match=f"masks.{form} is damaged"):
        sound_summary(folder.path)


def test_masks_of_other_data_are_refused(folder: RunFolder, tmp_path: Path) -> None:
    config = folder.config() or {}
    folder.file("config.json").write_text(json.dumps({**config, "data_sha256": "0" * 64}))
    with pytest.raises(RunFolderError, match="the data of task synthetic have changed"):
        add_outputs(folder, configuration(tmp_path, write_masks="csv"))
    assert not folder.file("masks.csv").exists()


@pytest.mark.parametrize(("kept", "rounds"), [(2, [4, 6]), (1, [6]), (0, [])])
def test_checkpoints_that_are_too_many_go(
    kept: int, rounds: list[int], folder: RunFolder, tmp_path: Path
) -> None:
    wanted = configuration(tmp_path, keep_checkpoints=kept)
    assert lacks_outputs(folder.path, wanted.settings.run) is (kept < 2)
    add_outputs(folder, wanted)
    names = [path.name for path in sorted(folder.file("checkpoints").iterdir())]
    assert names == [f"round_{t:08d}.npz" for t in rounds]
    assert sound_summary(folder.path) is not None
    assert left_out(folder, wanted) == []


def test_what_is_written_as_a_run_goes_by_is_not_added(folder: RunFolder, tmp_path: Path) -> None:
    assert left_out(folder, configuration(tmp_path)) == []
    more = configuration(tmp_path, client_scores=True, logger="csv, TensorBoard")
    assert left_out(folder, more) == ["client_scores", "logger=tensorboard"]
    config = folder.config() or {}
    config["settings"]["keep_checkpoints"] = 0
    add_outputs(folder, configuration(tmp_path, keep_checkpoints=0))
    wanted = configuration(tmp_path)
    assert not_added(folder.path, wanted, config["settings"]) == ["keep_checkpoints=1"]


def test_scores_of_a_round_that_was_not_evaluated_are_left_out_with_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    use_fake_engine(monkeypatch)
    wanted = configuration(tmp_path, client_scores=True, eval_every=3)
    run_experiment(wanted, wanted.folder)
    assert sorted(read_client_scores(wanted.folder)) == [3, 6]
    assert "left out" not in caplog.text
    content = scores_file(wanted.folder, 3).read_bytes()
    for name in ("round_00000004", "round_00000007", "round_\u0663", "round_3"):
        scores_file(wanted.folder, 3).with_name(f"{name}.npz").write_bytes(content)
    assert sorted(read_client_scores(wanted.folder)) == [3, 6]
    assert caplog.text.count("is left out: the round was not evaluated") == 4
    (wanted.folder / "metrics.csv").unlink()
    assert read_client_scores(wanted.folder) == {}
