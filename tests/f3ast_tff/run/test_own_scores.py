"""Regression and several labels, from `simulate` to comparisons."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff import FederatedData, Trained, TrainingFunction, compare, load_run, simulate
from f3ast_tff.analysis.runs import load_runs
from f3ast_tff.analysis.texts import write_csv
from f3ast_tff.analysis.tidy_scores import kept_groups, read_scores, settings_of, tidy_scores
from f3ast_tff.cli.export import runs_table
from f3ast_tff.core.errors import ComponentError, ParameterError
from f3ast_tff.models import PureModel

GIVEN: dict[str, Any] = {"rounds": 20, "client_lr": 0.05, "clients_per_round": 4}
RNG = np.random.default_rng(0)
FEATURES = RNG.normal(size=(400, 3)).astype(np.float32)
VALUES = (FEATURES @ np.array([1.0, -2.0, 0.5]) + 0.1).astype(np.float32)
CLIENTS = RNG.integers(8, size=400)
LINES = FederatedData.from_arrays(FEATURES, VALUES, CLIENTS, test=0.25)
SCORES: dict[str, Any] = {
    "mae": lambda o, y: abs(o - y),
    "close": (lambda o, y: abs(o - y) < 0.1, "higher"),
}


def squared(outputs: Any, labels: Any) -> Any:
    return (outputs - labels) ** 2


def train(weights: Any, examples: Any, work: Any) -> Trained:
    """Plain SGD on the squared error, by hand."""
    slope, start = (weight.copy() for weight in weights)
    for batch in work.batches:
        x, y = examples.features[batch], examples.labels[batch]
        error = x @ slope + start - y
        slope -= work.learning_rate * 2 * x.T @ error / len(batch)
        start -= work.learning_rate * 2 * error.mean()
    return Trained([slope, start], 0.0)


def on_host(**more: Any) -> TrainingFunction:
    given = {"loss": squared, "scores": SCORES, **more}
    return TrainingFunction(
        lambda seed: [np.zeros(3), np.zeros(())], train, lambda w, x: x @ w[0] + w[1], **given
    )


def in_jax(loss: Any = squared, scores: Any = None) -> PureModel:
    return PureModel(
        lambda seed: [np.zeros(3, np.float32), np.zeros((), np.float32)],
        lambda w, x: x @ w[0] + w[1],
        loss=loss,
        scores=SCORES if scores is None else scores,
    )


def test_regression_gets_better_and_is_scored_as_by_hand() -> None:
    result = simulate(LINES, "f3ast", "always", model=on_host(), **GIVEN)
    mae = result.metrics["test_sample_mae"]
    assert mae.iloc[1] < mae.iloc[0] / 5 and mae.iloc[1] < 0.05
    slope, start = result.weights
    errors = np.abs(LINES.test.features @ slope + start - LINES.test.labels)
    assert mae.iloc[1] == pytest.approx(errors.mean(), rel=1e-6)
    by_client = [part.mean() for part in np.split(errors, LINES.test.offsets[1:-1])]
    assert result.metrics["test_user_mae"].iloc[1] == pytest.approx(np.mean(by_client), rel=1e-6)
    close = result.metrics["test_sample_close"].iloc[1]
    assert close == pytest.approx((errors < 0.1).mean())
    assert "test_sample_accuracy" not in result.metrics
    assert "sample mae" in repr(result) and "accuracy" not in repr(result)
    found = result.trained.predict(FEATURES[:2])
    np.testing.assert_allclose(found, FEATURES[:2] @ slope + start, rtol=1e-5)
    with pytest.raises(ParameterError, match="labels are values"):
        result.trained.probabilities(FEATURES[:2])


def test_the_engines_agree() -> None:
    pytest.importorskip("jax")
    here, there = (
        simulate(LINES, "f3ast", "always", model=model, **GIVEN).metrics
        for model in (on_host(), in_jax())
    )
    columns = [name for name in here if name.startswith("test_")]
    assert columns == [name for name in there if name.startswith("test_")]
    np.testing.assert_allclose(here[columns], there[columns], rtol=1e-3)


def test_several_labels() -> None:
    """A 0/1 matrix, `int [n, 3]`, of the signs of three features."""
    jnp = pytest.importorskip("jax.numpy")
    data = FederatedData.from_arrays(FEATURES, (FEATURES > 0).astype(int), CLIENTS, test=0.25)
    model = PureModel(
        lambda seed: {"w": np.zeros((3, 3), np.float32)},
        lambda weights, x: x @ weights["w"],
        loss=lambda z, y: jnp.logaddexp(0.0, z) - y * z,
        scores={"right": (lambda z, y: (z > 0) == y, "higher")},
    )
    given = {**GIVEN, "client_lr": 0.5}
    result = simulate(data, "fedavg", "always", model=model, **given)
    last = result.metrics.iloc[-1]
    assert last["test_sample_right"] > 0.95 and last["test_sample_loss"] < 0.5
    logits = data.test.features @ result.weights[0]
    labels = data.test.labels
    expected = np.logaddexp(0, logits) - labels * logits
    assert last["test_sample_loss"] == pytest.approx(expected.mean(), rel=1e-4)
    assert last["test_sample_right"] == pytest.approx(((logits > 0) == labels).mean())


def test_a_folder_holds_scores_and_directions(tmp_path: Path) -> None:
    for seed in range(2):
        simulate(
            LINES,
            "f3ast",
            "always",
            model=on_host(identity="a line"),
            folder=tmp_path / str(seed),
            seed=seed,
            client_scores=True,
            **GIVEN,
        )
    config = json.loads((tmp_path / "0" / "config.json").read_text())
    ways = {"loss": "lower", "mae": "lower", "close": "higher"}
    assert config["scoring"] == {"own_loss": True, "outputs": 1, "scores": ways}
    with open(tmp_path / "0" / "metrics.csv") as file:
        (_, last) = csv.DictReader(file)
    summary = json.loads((tmp_path / "0" / "summary.json").read_text())
    assert float(last["test_user_mae"]) == summary["final"]["test_user_mae"]
    assert set(load_run(tmp_path / "0").client_scores[20]) == {"count", "loss", "mae", "close"}
    runs = load_runs(tmp_path)
    write_csv(tidy_scores(runs), tmp_path / "scores.csv")
    table = read_scores(tmp_path / "scores.csv")
    (group,) = kept_groups(table)
    assert settings_of(table) == ["task", "algorithm"]
    assert group.higher_is_better("sample_close") and not group.higher_is_better("best_user_mae")
    best = group.at("best_sample_mae", "final")
    assert list(best.values())[0] == pytest.approx(float(last["test_sample_mae"]), abs=1e-5)
    exported = runs_table({"0": runs[0]})
    assert exported["better"].iloc[0] == "loss lower, mae lower, close higher"
    assert exported["test_sample_mae"].iloc[-1] == float(last["test_sample_mae"])


def test_the_lower_error_is_better() -> None:
    """Methods are a short and a long run's rate: the slow one has the larger error."""
    methods = {"fast": {"client_lr": 0.05}, "slow": {"client_lr": 0.01}}
    given = {"rounds": 5, "clients_per_round": 4, "algorithm": "fedavg", "availability": "always"}
    found = compare(methods, seeds=range(3), task=LINES, model=on_host(), **given)
    table = found.differences(score="sample_mae")
    assert (table["a"].item(), table["b"].item()) == ("fast", "slow")
    assert table["difference"].item() < 0
    assert found.differences(score="sample_close")["difference"].item() > 0
    assert found.differences()["difference"].item() < 0  # The loss: there is no accuracy.
    with pytest.raises(ParameterError, match="must be one of sample_loss, user_loss, sample_mae"):
        found.differences(score="sample_accuracy")


def test_what_cannot_work_is_refused() -> None:
    given = {"algorithm": "f3ast", "availability": "always", **GIVEN}
    with pytest.raises(ParameterError, match="values, and the model brings no loss"):
        simulate(LINES, model=on_host(loss=None), **given)
    with pytest.raises(ParameterError, match="values, and the model brings no loss"):
        simulate(LINES, engine="host", **given)
    column = on_host(loss=lambda o, y: (o[:, None] - y) ** 2)
    with pytest.raises(ComponentError, match=r"loss returned shape \[\d+, \d+\] for labels"):
        simulate(LINES, model=column, **given)


def test_tff_takes_no_loss_of_a_model() -> None:
    from f3ast_tff.engines.components import FusedConfig, HostConfig, TffConfig

    takes = [config.takes_scoring for config in (FusedConfig, HostConfig, TffConfig)]
    assert takes == [True, True, False]


@pytest.mark.long
def test_scores_of_clients_with_private_leaves() -> None:
    """Each client is scored with its own leaf, in every score."""
    model = PureModel(
        lambda seed: {"slope": np.zeros(3, np.float32), "start": np.zeros((), np.float32)},
        lambda w, x: x @ w["slope"] + w["start"],
        loss=squared,
        scores=SCORES,
    )
    shifted = FederatedData.from_arrays(FEATURES, VALUES + CLIENTS, CLIENTS, test=0.25)
    given = {**GIVEN, "model": model, "rounds": 40, "algorithm": "fedavg_all"}
    shared, own = (simulate(shifted, **given, **more) for more in ({}, {"private": "start"}))
    assert {"test_user_mae", "test_sample_close"} <= {*own.metrics}
    assert "test_user_accuracy" not in own.metrics
    ends = [each.metrics["test_user_mae"].iloc[-1] for each in (shared, own)]
    assert ends[1] < ends[0] / 2
