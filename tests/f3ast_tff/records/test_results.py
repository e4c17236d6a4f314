"""Sealed results: damage to any file is found, and repaired from the last checkpoint."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from f3ast_tff.core.errors import CheckpointError
from f3ast_tff.records.results import DamagedResult, finished_summary, sound_summary
from f3ast_tff.run import round_loop
from tests.f3ast_tff.run.small_run import STRATEGIES, assert_same_results, run
from tests.fake_engine import Breakdown

RESULTS = ("metrics.csv", "selection.npz", "summary.json", "masks.npz")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results") / "run"
    run(folder, STRATEGIES["f3ast"], write_masks="npz")
    return folder


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def one_digit(path: Path) -> None:
    """Makes a file wrong but well-formed."""
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
    if (name, damage) == ("masks.npz", Path.unlink):
        # Masks can be requested again.
        assert finished_summary(folder) is not None
        return
    # A run without a summary counts as unfinished.
    unfinished = (name, damage) == ("summary.json", Path.unlink)
    assert finished_summary(folder) is None
    assert (f"{folder / name} is " in caplog.text) is not unfinished
    result, engine, _ = run(folder, STRATEGIES["f3ast"])
    assert engine.rounds_run == []
    assert_same_results(folder, finished)
    assert (folder / "masks.npz").read_bytes() == (finished / "masks.npz").read_bytes()
    assert sound_summary(folder) is not None
    assert result.summary["rounds"] == 7
    sealed = json.loads((folder / "summary.json").read_text())["files"]
    assert sealed.keys() == {"metrics.csv", "selection.npz", "masks.npz"}


@pytest.mark.parametrize("damage", [cut, Path.unlink])
@pytest.mark.parametrize("round_number", [3, 7])
def test_damaged_client_scores_are_made_anew_from_an_earlier_checkpoint(
    round_number: int, damage: Callable[[Path], None], tmp_path: Path
) -> None:
    """Checkpoints are of rounds 6 and 7, evaluations of rounds 3, 6 and 7."""
    given = {"client_scores": True, "keep_checkpoints": 2}
    run(tmp_path, STRATEGIES["f3ast"], **given)  # type: ignore[arg-type]
    files = {path: path.read_bytes() for path in (tmp_path / "client_scores").iterdir()}
    damaged = tmp_path / f"client_scores/round_{round_number:08d}.npz"
    damage(damaged)
    if round_number == 3:
        with pytest.raises(CheckpointError, match=r"round_00000003.npz is .* no checkpoint"):
            run(tmp_path, STRATEGIES["f3ast"], **given)  # type: ignore[arg-type]
        return
    _, engine, _ = run(tmp_path, STRATEGIES["f3ast"], **given)  # type: ignore[arg-type]
    assert engine.blocks[0][0] == 7
    assert {path: path.read_bytes() for path in files} == files
    shutil.rmtree(tmp_path / "client_scores")
    assert sound_summary(tmp_path) is not None


@pytest.mark.parametrize("kept", [1, 2])
def test_a_damaged_checkpoint_of_a_finished_run_is_found(
    kept: int, finished: Path, tmp_path: Path
) -> None:
    run(tmp_path, STRATEGIES["f3ast"], keep_checkpoints=kept)
    newest = tmp_path / "checkpoints/round_00000007.npz"
    cut(newest)
    assert finished_summary(tmp_path) is None
    if kept == 1:
        with pytest.raises(CheckpointError, match="round_00000007.npz is damaged"):
            run(tmp_path, STRATEGIES["f3ast"])
        return
    run(tmp_path, STRATEGIES["f3ast"], keep_checkpoints=kept)
    assert finished_summary(tmp_path) is not None
    assert_same_results(tmp_path, finished)


def test_a_seal_of_a_file_elsewhere_is_refused(folder: Path) -> None:
    summary = json.loads((folder / "summary.json").read_text())
    del summary["sha256"]
    summary["files"]["../secret"] = "0" * 64
    sha256 = hashlib.sha256(json.dumps(summary, sort_keys=True).encode()).hexdigest()
    (folder / "summary.json").write_text(json.dumps({**summary, "sha256": sha256}))
    with pytest.raises(DamagedResult, match="it names files that are no results"):
        sound_summary(folder)


def test_what_was_not_on_the_disk_is_written_at_the_end(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Power loss may take an added row; sealed files must survive it."""
    monkeypatch.setattr(round_loop, "append_csv", lambda path, row: None)
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
    final = {"final": {**older["final"], "test_user_loss": "x"}}
    for other in ([1], {**older, "peak_memory_mib": "x"}, {**older, **final}):
        (folder / "summary.json").write_text(json.dumps(other))
        with pytest.raises(DamagedResult, match="it is no summary|a count that is no number"):
            sound_summary(folder)


@pytest.mark.parametrize("damage", [cut, Path.unlink])
def test_client_scores_edited_before_a_resume_are_not_sealed(
    damage: Callable[[Path], None], tmp_path: Path
) -> None:
    """The run stops in round 5, with checkpoints of rounds 2 and 4 and the scores of round 3."""
    run(tmp_path / "whole", STRATEGIES["f3ast"], client_scores=True)
    with pytest.raises(Breakdown):
        run(tmp_path / "cut", STRATEGIES["f3ast"], client_scores=True, break_at=5)
    damage(tmp_path / "cut/client_scores/round_00000003.npz")
    _, engine, _ = run(tmp_path / "cut", STRATEGIES["f3ast"], client_scores=True)
    assert engine.blocks[0][0] == 3
    for path in (tmp_path / "whole/client_scores").iterdir():
        assert (tmp_path / "cut/client_scores" / path.name).read_bytes() == path.read_bytes()
    assert_same_results(tmp_path / "cut", tmp_path / "whole")
