"""Runs read back from their folders."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from f3ast_tff import load_run, simulate
from f3ast_tff.core.errors import CheckpointError, RunFolderError
from f3ast_tff.records.run_folder import json_values
from f3ast_tff.run.trained_model import TrainedModel

pytestmark = pytest.mark.usefixtures("host_by_default")


def test_a_run_is_read_back_as_simulate_returned_it(tmp_path: Path) -> None:
    made = simulate(
        rounds=3,
        eval_every=2,
        clients_per_round=2,
        num_clients=10,
        server_optimizer="adam",
        client_scores=True,
        folder=tmp_path / "x",
    )
    run = load_run(tmp_path / "x")
    assert run.settings == made.configuration.settings
    assert run.metrics["test_user_loss"].tolist() == made.metrics["test_user_loss"].tolist()
    assert run.selection.keys() == made.selection.keys()
    assert run.weights is not None and run.weights_round == 3
    for mine, theirs in zip(run.weights, made.weights):
        np.testing.assert_array_equal(mine, theirs)
    assert len(run.weights) == len(made.weights)
    assert run.summary == json_values(made.summary)
    assert list(run.client_scores) == [2, 3]
    last = run.client_scores[3]
    mean = np.average(last["accuracy"], weights=last["count"])
    assert mean == pytest.approx(made.metrics["test_sample_accuracy"].iloc[-1])
    assert np.mean(last["loss"]) == pytest.approx(made.metrics["test_user_loss"].iloc[-1])


RESULTS = (
    "metrics.csv",
    "selection.npz",
    "summary.json",
    "client_scores/round_00000002.npz",
    "checkpoints/round_00000002.npz",
)


def test_a_damaged_result_is_named(tmp_path: Path) -> None:
    """Damages: cut short, empty, a pipe whose opening would wait, one byte."""
    small = {"rounds": 2, "clients_per_round": 2, "num_clients": 10, "client_scores": True}
    folder = tmp_path / "x"
    simulate(folder=folder, **small)
    for name in RESULTS:
        path = folder / name
        content = path.read_bytes()
        one_byte = [content[:-9] + bytes([content[-9] ^ 1]) + content[-8:]]
        for damaged in (content[:-9], b"", None, *one_byte):
            path.unlink()
            os.mkfifo(path) if damaged is None else path.write_bytes(damaged)
            with pytest.raises(RunFolderError, match=name):
                load_run(folder)
        path.unlink()
        path.write_bytes(content)
    assert load_run(folder).summary is not None


def test_an_unfinished_run_gives_what_its_checkpoint_holds(tmp_path: Path) -> None:
    given = {"clients_per_round": 2, "num_clients": 10, "folder": tmp_path / "x"}

    def stop(row: dict[str, float], trained: TrainedModel) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError):
        simulate(rounds=9, checkpoint_every=2, eval_every=5, on_evaluation=stop, **given)
    run = load_run(tmp_path / "x")
    assert (run.summary, run.weights_round) == (None, 4)
    assert len(run.selection["selected"]) == 4
    assert not run.client_scores


def test_what_is_no_run_is_named(tmp_path: Path) -> None:
    for folder in (tmp_path, "~nosuchuser/x"):
        with pytest.raises(RunFolderError, match="holds no run: it has no config.json"):
            load_run(folder)
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(RunFolderError, match="is not of a run"):
        load_run(tmp_path)
    (tmp_path / "config.json").write_text('{"settings": {"rounds": 3}, "identity": {"rounds": 4}}')
    with pytest.raises(RunFolderError, match="damaged: rounds is 3 in its settings"):
        load_run(tmp_path)


@pytest.mark.parametrize(("kept", "rounds"), [(0, []), (1, [4]), (2, [2, 4])])
def test_a_finished_run_keeps_as_many_checkpoints_as_asked(
    kept: int, rounds: list[int], tmp_path: Path
) -> None:
    folder = tmp_path / "x"
    given = {"clients_per_round": 2, "num_clients": 10, "folder": folder, "checkpoint_every": 2}
    made = simulate(rounds=4, keep_checkpoints=kept, **given)
    there = sorted((folder / "checkpoints").glob("*"))
    assert [path.name for path in there] == [f"round_{t:08d}.npz" for t in rounds]
    run = load_run(folder)
    assert run.summary is not None and run.summary["rounds"] == 4
    assert run.selection.keys() == made.selection.keys()
    if kept:
        assert run.weights_round == 4
        assert len(simulate(rounds=6, **given).selection["selected"]) == 6
        return
    assert (run.weights, run.weights_round) == (None, 0)
    with pytest.raises(CheckpointError, match="finished run without a checkpoint"):
        simulate(rounds=4, **given)
    with pytest.raises(RunFolderError, match="has kept no checkpoint"):
        simulate(rounds=6, **given)
    assert load_run(folder).summary == run.summary
