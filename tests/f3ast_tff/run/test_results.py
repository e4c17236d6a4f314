"""Sealed results: damage to any of them is found, and made good from the last checkpoint."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from f3ast_tff.core.errors import CheckpointError
from f3ast_tff.run import run_files
from f3ast_tff.run.results import DamagedResult, finished_summary, sound_summary
from tests.f3ast_tff.run.small_run import STRATEGIES, assert_same_results, run

RESULTS = ("metrics.csv", "selection.npz", "summary.json")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results") / "run"
    run(folder, STRATEGIES["f3ast"])
    return folder


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def one_digit(path: Path) -> None:
    """Well-formed, and wrong."""
    content = bytearray(path.read_bytes())
    place = max(i for i, byte in enumerate(content) if 48 <= byte <= 56)
    content[place] += 1
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [cut, one_digit, Path.unlink])
@pytest.mark.parametrize("name", RESULTS)
def test_damage_is_found_and_made_good(
    name: str,
    damage: Callable[[Path], None],
    folder: Path,
    finished: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert finished_summary(folder) is not None
    damage(folder / name)
    # Without a summary a run has not finished.
    unfinished = (name, damage) == ("summary.json", Path.unlink)
    assert finished_summary(folder) is None
    assert (f"{folder / name} is " in caplog.text) is not unfinished
    result, engine, _ = run(folder, STRATEGIES["f3ast"])
    assert engine.rounds_run == []
    assert_same_results(folder, finished)
    assert sound_summary(folder) is not None
    assert result.summary["rounds"] == 7


def test_what_was_not_on_the_disk_is_written_at_the_end(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row that is added may be lost with the power; what is sealed must not be."""
    monkeypatch.setattr(run_files, "append_csv", lambda path, row: None)
    run(tmp_path / "run", STRATEGIES["f3ast"])
    assert_same_results(tmp_path / "run", finished)
    assert sound_summary(tmp_path / "run") is not None


def test_damage_without_a_checkpoint_is_refused(folder: Path) -> None:
    cut(folder / "metrics.csv")
    shutil.rmtree(folder / "checkpoints")
    with pytest.raises(CheckpointError, match=r"metrics.csv is damaged: .* no checkpoint"):
        run(folder, STRATEGIES["f3ast"])


def test_results_of_an_older_version_have_no_seal(folder: Path) -> None:
    summary = json.loads((folder / "summary.json").read_text())
    older = {name: value for name, value in summary.items() if name not in ("files", "sha256")}
    (folder / "summary.json").write_text(json.dumps(older))
    assert sound_summary(folder) == older
    (folder / "selection.npz").unlink()
    with pytest.raises(DamagedResult, match=r"selection.npz is missing"):
        sound_summary(folder)
    (folder / "summary.json").write_text("[1]")
    with pytest.raises(DamagedResult, match="it is no summary"):
        sound_summary(folder)
