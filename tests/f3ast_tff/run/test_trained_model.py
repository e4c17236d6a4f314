"""Predictions of a trained model, in memory and from a run's folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from f3ast_tff import F3AST, ClientExamples, FederatedData, load_run, simulate
from f3ast_tff.core.errors import ParameterError, RunFolderError
from f3ast_tff.models import SoftmaxRegression
from f3ast_tff.run.build import Builder
from f3ast_tff.settings.resolve import resolve

pytestmark = pytest.mark.usefixtures("host_by_default")

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
