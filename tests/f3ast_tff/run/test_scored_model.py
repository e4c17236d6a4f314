"""The model that a run leaves for use is the model that its metrics score, for every method."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff import load_run, simulate
from f3ast_tff.methods.parts.memory import Memory
from f3ast_tff.run.build import Builder
from f3ast_tff.run.saved_run import SavedRun
from f3ast_tff.run.trained_model import TrainedModel
from f3ast_tff.settings import builtin_registry
from f3ast_tff.settings.resolve import resolve
from f3ast_tff.simulation import Simulation
from tests.f3ast_tff.run.small_run import assert_same_results

SMALL: dict[str, Any] = {
    "num_clients": 8,
    "clients_per_round": 3,
    "availability": "scarce",
    "client_lr": 0.1,
    "rounds": 4,
    "seed": 3,
}
COMPONENTS = builtin_registry().components
ALGORITHMS, AGGREGATIONS = COMPONENTS["algorithm"], COMPONENTS["aggregation"]
# Settings that a method asks for.
NEEDS: dict[str, dict[str, Any]] = {
    "more_available": {"more_available_pi": 0.2},
    # After 4 rounds two classes tie for 147 of 189 examples, and rounding decides between them.
    "aced": {"rounds": 8},
    "sequential_sgd": {"availability": "always", "clients_per_round": 1},
}
SCORES = ("test_sample_accuracy", "test_user_accuracy", "test_sample_loss", "test_user_loss")


def scores(trained: TrainedModel, given: dict[str, Any]) -> list[float]:
    """Scores of predictions for all test examples, in the order of `SCORES`."""
    test = Builder(resolve({"task": "synthetic", **given})).data.test
    classes = trained.probabilities(test.features).astype(np.float64)
    loss = -np.log(classes[np.arange(len(test.labels)), test.labels])
    right = classes.argmax(axis=1) == test.labels
    owner = np.repeat(np.arange(len(test.sizes)), test.sizes)
    of_users = [np.bincount(owner, each) / np.bincount(owner) for each in (right, loss)]
    return [right.mean(), of_users[0].mean(), loss.mean(), of_users[1].mean()]


def ran(name: str, folder: Path, **more: Any) -> tuple[Simulation, SavedRun, dict[str, Any]]:
    given = {**SMALL, **NEEDS.get(name, {}), "algorithm": name, **more}
    return simulate("synthetic", folder=folder, **given), load_run(folder), given


def server_weights(folder: Path) -> list[np.ndarray]:
    """Kernel and bias of w in the checkpoint."""
    (path,) = (folder / "checkpoints").iterdir()
    with np.load(path) as arrays:
        return [arrays[f"engine/{i:04d}"] for i in range(2)]


def scores_another(aggregation: str) -> bool:
    memory = AGGREGATIONS[aggregation].config().memory
    return memory is not None and type(memory).evaluated is not Memory.evaluated


def test_every_aggregation_is_that_of_an_algorithm() -> None:
    assert {c.config.aggregation for c in ALGORITHMS.values()} == AGGREGATIONS.keys()


@pytest.mark.parametrize("engine", [pytest.param("fused", marks=pytest.mark.long), "host"])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_run_keeps_the_model_that_it_scores(name: str, engine: str, tmp_path: Path) -> None:
    """In memory and on disk; the model is the server's unless the memory gives another."""
    made, saved, given = ran(name, tmp_path / "run", engine=engine)
    expected = made.metrics[list(SCORES)].iloc[-1].tolist()
    assert scores(made.trained, given) == pytest.approx(expected, abs=1e-6)
    assert scores(saved.trained, given) == pytest.approx(expected, abs=1e-6)
    assert saved.weights is not None
    for kept, returned in zip(saved.weights, made.weights):
        np.testing.assert_array_equal(kept, returned)
    server = server_weights(tmp_path / "run")
    gap = np.abs(saved.weights[0] - server[0]).max()
    assert gap > 1e-4 if scores_another(ALGORITHMS[name].config.aggregation) else gap == 0


@pytest.mark.long
def test_the_servers_model_is_kept_if_it_is_scored(tmp_path: Path) -> None:
    """Of rounds in which every class is learnt: unlearnt ones tie, and rounding decides."""
    more = {"fedawe_scored": "server_model", "rounds": 12}
    made, saved, given = ran("fedawe", tmp_path / "run", **more)
    expected = made.metrics[list(SCORES)].iloc[-1].tolist()
    assert scores(saved.trained, given) == pytest.approx(expected, abs=1e-6)
    assert saved.weights is not None
    for kept, server in zip(saved.weights, server_weights(tmp_path / "run")):
        np.testing.assert_array_equal(kept, server)


@pytest.mark.long
def test_a_longer_run_goes_on_from_the_servers_model(tmp_path: Path) -> None:
    """Made longer, and read from its finished folder, it is the undisturbed run, bit for bit."""
    ran("fedawe", tmp_path / "longer")
    longer, saved, _ = ran("fedawe", tmp_path / "longer", rounds=7)
    whole, _, given = ran("fedawe", tmp_path / "whole", rounds=7)
    assert_same_results(tmp_path / "longer", tmp_path / "whole")
    again = simulate("synthetic", folder=tmp_path / "longer", **given)
    for run in (longer, again, saved):
        assert run.weights is not None
        for one, other in zip(run.weights, whole.weights):
            np.testing.assert_array_equal(one, other)


@pytest.mark.long
@pytest.mark.tff
@pytest.mark.parametrize(
    "name", [name for name, c in ALGORITHMS.items() if scores_another(c.config.aggregation)]
)
def test_tff_keeps_the_model_that_it_scores(name: str, tmp_path: Path) -> None:
    made, saved, given = ran(name, tmp_path / "run", engine="tff")
    expected = made.metrics[list(SCORES)].iloc[-1].tolist()
    assert scores(saved.trained, given) == pytest.approx(expected, abs=1e-6)
    assert scores(made.trained, given) == pytest.approx(expected, abs=1e-6)
    assert saved.weights is not None
    server = server_weights(tmp_path / "run")
    assert np.abs(saved.weights[0] - server[0]).max() > 1e-4
