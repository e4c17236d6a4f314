"""Runs read back from their folders, and predictions of their models."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from f3ast_tff import F3AST, ClientExamples, FederatedData, load_run, simulate
from f3ast_tff.core.errors import CheckpointError, ParameterError, RunFolderError
from f3ast_tff.models import SoftmaxRegression
from f3ast_tff.records.run_folder import json_values
from f3ast_tff.run.build import Builder
from f3ast_tff.run.trained_model import TrainedModel
from f3ast_tff.settings.resolve import resolve

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


SMALL: dict[str, Any] = {"clients_per_round": 3, "rounds": 4, "availability": "always", "seed": 1}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Hospitals whose patients are ill if `pulse` is above 0; `age` says nothing."""
    rng = np.random.default_rng(0)
    pulse, age = rng.normal(size=(2, 60))
    label = np.where(pulse > 0, "ill", "well")
    frame = pd.DataFrame({"client": np.arange(60) % 5, "age": age, "label": label, "pulse": pulse})
    frame.to_csv(tmp_path / "data.csv", index=False)
    return tmp_path / "data.csv"


def test_a_saved_model_predicts_by_the_names_of_its_file(table: Path, tmp_path: Path) -> None:
    """The file itself is no longer needed; the order of columns does not matter."""
    given = {**SMALL, "client_lr": 1.0, "folder": tmp_path / "run"}
    made = simulate("file", data_file=str(table), **given).trained
    frame = pd.read_csv(table)
    table.unlink()
    saved = load_run(tmp_path / "run").trained
    assert (saved.features, saved.labels) == (("age", "pulse"), ("ill", "well"))
    turned = frame[["pulse", "label", "age"]]
    assert np.mean(saved.predict(turned) == frame["label"]) > 0.9
    found = saved.probabilities(frame[["age", "pulse"]].to_numpy(np.float32))
    np.testing.assert_array_equal(found, saved.probabilities(turned))
    np.testing.assert_array_equal(found, made.probabilities(turned))
    assert found.shape == (60, 2) and found.sum(axis=1) == pytest.approx(np.ones(60))
    with pytest.raises(ParameterError, match="must have the columns age, pulse"):
        saved.predict(frame[["age"]])
    with pytest.raises(ParameterError, match="the weights do not fit"):
        saved.predict(np.zeros((2, 3)))


def test_predictions_have_the_accuracy_of_the_run(tmp_path: Path) -> None:
    given = {**SMALL, "num_clients": 10, "folder": tmp_path}
    run = simulate("synthetic", **given)
    test = Builder(resolve({**SMALL, "task": "synthetic", "num_clients": 10})).data.test
    right = load_run(tmp_path).trained.predict(test.features) == test.labels
    assert right.mean() == pytest.approx(run.summary["final"]["test_sample_accuracy"])


@pytest.mark.long
def test_a_model_of_ids_predicts_and_knows_its_vocabulary() -> None:
    ids = np.arange(48).reshape(8, 6) % 5
    part = ClientExamples(ids, ids, np.array([0, 4, 8]))
    given = {**SMALL, "clients_per_round": 2, "model": "character_lstm", "lstm_units": 4}
    trained = simulate(FederatedData(part, part, 5), algorithm="fedavg", **given).trained
    assert trained.predict(ids[:2]).shape == (2, 6)
    with pytest.raises(ParameterError, match="reads ids from 0 to 4, .* the examples have 5"):
        trained.predict(ids + 1)
    other = ClientExamples(ids - 1, ids, part.offsets)
    with pytest.raises(ParameterError, match="model = character_lstm: .* the examples have -1"):
        simulate(FederatedData(part, other, 5), algorithm="fedavg", **given)


def test_what_cannot_predict_is_said(tmp_path: Path) -> None:
    """No names for a table's columns, no checkpoint, a model given as an object."""
    data = FederatedData.from_arrays(np.eye(6), [0, 1] * 3, [0, 0, 1, 1, 2, 2], test=None)
    found = simulate(data, **SMALL, folder=tmp_path / "a", keep_checkpoints=0).trained
    assert found.predict(np.eye(6)).shape == (6,)
    assert found.predict(np.zeros((0, 6))).shape == (0,)
    with pytest.raises(ParameterError, match="must be an array: the run's features have no names"):
        found.predict(pd.DataFrame(np.eye(6)))
    for given, says in (
        ([[0, 1, np.nan, 0, 0, 0]], "examples = nan: must be finite, as in training: row 0"),
        ([["a"] * 6], "examples = list of <U1: must be numbers"),
        (None, "examples = NoneType of object: must be numbers"),
    ):
        with pytest.raises(ParameterError, match=says):
            found.predict(given)
    with pytest.raises(RunFolderError, match="has no checkpoint, hence no weights"):
        _ = load_run(tmp_path / "a").trained
    simulate(data, **SMALL, folder=tmp_path / "b")
    again = load_run(tmp_path / "b").trained
    np.testing.assert_array_equal(again.probabilities(np.eye(6)), found.probabilities(np.eye(6)))
    own = SoftmaxRegression(num_features=6, num_classes=2)
    simulate(data, model=own, **SMALL, folder=tmp_path / "c")
    with pytest.raises(RunFolderError, match="its model cannot be built here"):
        _ = load_run(tmp_path / "c").trained


def test_the_rates_of_a_run_start_a_strategy(tmp_path: Path) -> None:
    """As in docs/library.md."""
    simulate("synthetic", algorithm="f3ast", rounds=4, folder=tmp_path)
    run = load_run(tmp_path)
    learnt = {name[6:]: array for name, array in run.selection.items() if name.startswith("final_")}
    own = {n: run.settings[n] for n in ("availability_objective", "rates_follow", "rate_step")}
    strategy = F3AST.start(run.selection["p"], k=10, **own)
    strategy.restore(learnt)
    np.testing.assert_array_equal(strategy.participation_rates(), run.selection["final_rates"])


def test_it_is_shown_in_a_line() -> None:
    trained = simulate(rounds=1, engine="host", num_clients=4, clients_per_round=2).trained
    assert (
        repr(trained)
        == "TrainedModel(SoftmaxRegressionConfig, classes=10, weights=(60, 10), (10,))"
    )
