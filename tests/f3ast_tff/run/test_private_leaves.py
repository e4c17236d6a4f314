"""Runs whose clients keep leaves of the model, `--private`: their tests and their own models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from f3ast_tff import FederatedData, Simulation, TrainingFunction, load_run, simulate
from f3ast_tff.core.errors import ParameterError, RunFolderError
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.memory import Memory
from f3ast_tff.models import Trained
from tests.commands import Cli

TABLE = "engine/client_private_leaves"
N, CLASSES, FEATURES = 12, 10, 60
SMALL: dict[str, Any] = {
    "num_clients": N,
    "clients_per_round": 4,
    "rounds": 8,
    "eval_every": 4,
    "client_lr": 0.1,
    "engine": "host",
}


def run(**given: Any) -> Simulation:
    return simulate(**{**SMALL, **given})


def last_checkpoint(folder: Path) -> dict[str, np.ndarray]:
    """Arrays of the newest checkpoint, except the account of the run's time."""
    with np.load(sorted((folder / "checkpoints").iterdir())[-1]) as arrays:
        return {name: arrays[name] for name in arrays.files if "/" in name}


def assert_same(a: Simulation, b: Simulation) -> None:
    timeless = a.metrics.columns.drop("wall_seconds")
    pd.testing.assert_frame_equal(a.metrics[timeless], b.metrics[timeless], check_exact=True)
    for own, other in zip(a.weights, b.weights, strict=True):
        np.testing.assert_array_equal(own, other)


@pytest.mark.long
@pytest.mark.parametrize("engine", ["host", "fused"])
def test_no_private_leaf_is_the_run_without(engine: str) -> None:
    assert_same(run(private=(), engine=engine), run(engine=engine))


@pytest.mark.parametrize("algorithm", ["fedavg", "f3ast"])
@pytest.mark.parametrize(
    ("private", "shared"),
    [
        ("head.bias", FEATURES * CLASSES),
        (("bias",), FEATURES * CLASSES),
        ((0,), CLASSES),
        ("head", 0),
    ],
)
def test_shared_leaves_alone_are_sent(algorithm: str, private: Any, shared: int) -> None:
    found = run(algorithm=algorithm, private=private, availability="always")
    last = found.metrics.iloc[-1]
    updates = sum(len(set(ids) - {-1}) for ids in found.selection["selected"].tolist())
    assert last["bytes_up"] == last["bytes_down"] == 4 * shared * updates
    kernel, bias = found.weights
    assert kernel.any() == (shared >= FEATURES * CLASSES)
    assert bias.any() == (shared == CLASSES)


def test_a_private_head_helps_clients_that_differ() -> None:
    """On Synthetic(1,1) each client labels by a model of its own."""
    shared, own = (run(private=each, rounds=40, eval_every=40) for each in ((), ("head",)))
    best = "test_user_accuracy"
    assert own.metrics[best].iloc[-1] > shared.metrics[best].iloc[-1] + 0.1


def test_a_client_keeps_what_it_trained_if_its_update_arrives(tmp_path: Path) -> None:
    """Half of all updates are lost: these clients start from the leaves that they had before."""
    given = {"private": "head.bias", "delivery": "bernoulli", "loss_probability": 0.5}
    found = run(**given, rounds=3, folder=tmp_path)
    selected, delivered = found.selection["selected"], found.selection["delivered"]
    arrived = set(selected[delivered].tolist()) - {-1}
    lost = set(selected.ravel().tolist()) - {-1} - arrived
    table = last_checkpoint(tmp_path)[TABLE]
    assert arrived and lost
    assert {*np.flatnonzero(table.any(axis=1)).tolist()} == arrived


REFUSED = {
    "no_leaf": (["--private=hed"], ["--private=hed", "head, kernel, bias", "from 0 to 1"]),
    "no_name": (["--private=head,"], ["--private=head,", "must be among"]),
    "no_number": (["--private=2"], ["--private=2", "from 0 to 1"]),
    "late": (["--private=head", "--delivery=late"], ["--delivery=late", "private=head"]),
    "workers": (
        ["--private=head", "--engine=fused", "--num_workers=2"],
        ["--num_workers=2", "private=head, whose leaves stay with one process"],
    ),
    "who_left": (
        ["--private=head", "--availability=poisson_arrivals"],
        ["--client_share_of=present", "must be all with private=head"],
    ),
    "last_steps": (
        ["--private=head", "--algorithm=focus"],
        ["must not be given with aggregation focus", "last steps alone"],
    ),
    "some_tested": (["--private=head", "--test_clients=3"], ["--test_clients=3", "private=head"]),
    "others_tested": (
        ["--private=head", "--task=cifar100"],
        ["needs test examples of the clients that train", "give own_test"],
    ),
    "both_splits": (["--own_test=0.2", "--test_clients=3"], ["--test_clients=3", "own_test"]),
    "no_share": (["--own_test=1"], ["--own_test=1", "below 1"]),
}


@pytest.mark.parametrize(("arguments", "says"), REFUSED.values(), ids=REFUSED)
def test_refused(arguments: list[str], says: list[str], tmp_path: Path, cli: Cli) -> None:
    """One line, exit code 2, and no folder."""
    err = cli.err("run", *arguments, f"--output_dir={tmp_path / 'runs'}")
    assert len(err.splitlines()) == 1
    for words in says:
        assert words in err
    assert not (tmp_path / "runs").exists()


def table(test_of: str) -> pd.DataFrame:
    """Clients a, b and c with a label each; test examples of the clients in a text."""
    rows = [(k, "train", i % 3) for i, k in enumerate("abcabc")]
    rows += [(k, "test", 0) for k in test_of]
    frame = pd.DataFrame(rows, columns=["client", "split", "label"])
    frame["x"] = 1.0
    return frame


def test_names_say_whose_the_test_examples_are() -> None:
    """Test clients c and a: the first is training client 2."""
    data = FederatedData.from_frame(table("ca"), split="split")
    given = {"num_clients": 3, "clients_per_round": 3, "availability": "always", "rounds": 5}
    found = run(task=data, **given, private="head", algorithm="fedavg")
    # Client a holds label 0 alone, client c label 2 alone; both are tested on label 0.
    assert found.metrics["test_user_accuracy"].iloc[-1] == 0.5
    other = FederatedData.from_frame(table("cd"), split="split")
    with pytest.raises(ParameterError, match="this data tests others: give own_test"):
        run(task=other, **given, private="head")
    mended = run(task=other, **given, private="head", own_test=0.5)
    assert mended.metrics["test_user_accuracy"].iloc[-1] == 1


class OwnStart(Memory):
    """Scores each client under the initial model."""

    def own_model(self, kept: Any, server: Any, model: Any, xp: Any) -> Any:
        return xp.zeros_like(model)


class ScoredAtTheStart(Aggregation):
    memory = OwnStart()


@pytest.mark.parametrize("engine", ["host", "fused"])
def test_a_plug_in_with_models_of_its_own_needs_to_know_whose_the_tests_are(engine: str) -> None:
    found = run(aggregation=ScoredAtTheStart(), engine=engine)
    assert found.metrics["test_sample_loss"].iloc[-1] == pytest.approx(np.log(CLASSES), rel=1e-6)
    with pytest.raises(ParameterError, match="this data tests others: give own_test"):
        run(aggregation=ScoredAtTheStart(), test_clients=3)


def test_a_training_function_names_its_arrays() -> None:
    """Without names, its arrays have numbers alone."""

    def train(weights: Any, examples: Any, work: Any) -> Trained:
        return Trained([weights[0] + 1, weights[1] + 1], 0.0)

    def model(**more: Any) -> TrainingFunction:
        return TrainingFunction(
            lambda seed: [np.zeros((CLASSES, FEATURES)), np.zeros(CLASSES)],
            train,
            lambda weights, x: x @ weights[0].T + weights[1],
            **more,
        )

    named = run(model=model(leaves=("body", "head")), private="head", rounds=2)
    assert named.weights[0].any() and not named.weights[1].any()
    with pytest.raises(ParameterError, match="numbers of leaves from 0 to 1: the model has no"):
        run(model=model(), private="head", rounds=2)
    numbered = run(model=model(), private=(1,), rounds=2)
    np.testing.assert_array_equal(numbered.weights[0], named.weights[0])


NAMES = np.array(["ann", "bob", "cem", "dot"])


def four_clients() -> FederatedData:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 3)).astype(np.float32)
    clients = np.tile(NAMES, 20)
    # Two clients name the classes the other way round.
    y = (x[:, 0] > 0) ^ np.isin(clients, ("bob", "dot"))
    return FederatedData.from_arrays(x, y.astype(int), clients)


def trained(**given: Any) -> Simulation:
    common = {"clients_per_round": 4, "client_lr": 0.5, "rounds": 20}
    return simulate(four_clients(), "fedavg", "always", private=("head",), **common, **given)


@pytest.mark.long
@pytest.mark.parametrize("engine", ["host", "fused"])
def test_a_client_s_own_model_predicts_for_it(engine: str) -> None:
    """All leaves are private, so each client learns its own names of the classes."""
    model = trained(engine=engine).trained
    x = np.array([[3.0, 0, 0], [-3.0, 0, 0]])
    found = {name: model.personal(name).predict(x).tolist() for name in NAMES}
    assert found == {"ann": [1, 0], "bob": [0, 1], "cem": [1, 0], "dot": [0, 1]}
    own = model.personal("ann")
    assert [w.shape for w in own.weights] == [w.shape for w in model.weights]
    assert not np.array_equal(own.weights[0], model.personal("bob").weights[0])


def test_refused_in_a_line(tmp_path: Path) -> None:
    model = trained(engine="host").trained
    for call in (model.predict, model.probabilities, model.outputs):
        with pytest.raises(ParameterError, match=r"personal\(client\) is a client's own"):
            call(np.zeros((1, 3)))
    with pytest.raises(ParameterError, match="client = eve: must be one of ann, bob, cem, dot"):
        model.personal("eve")
    shared = simulate(four_clients(), "fedavg", "always", clients_per_round=4, rounds=1).trained
    with pytest.raises(ParameterError, match="has no private leaves"):
        shared.personal("ann")


def test_a_finished_run_returns_them_again(tmp_path: Path) -> None:
    given = {"engine": "host", "folder": tmp_path / "run"}
    first, again = (trained(**given).trained.personal("dot").weights for _ in range(2))
    assert all(np.array_equal(*pair) for pair in zip(first, again))
    with pytest.raises(RunFolderError, match=r"again returns their models"):
        _ = load_run(tmp_path / "run").trained


def test_evaluations_hand_them_over() -> None:
    seen: list[Any] = []
    run = trained(engine="host", eval_every=10, on_evaluation=lambda row, model: seen.append(model))
    heads = [model.personal("cem").weights[0] for model in seen]
    assert len(heads) == 2 and not np.array_equal(*heads)
    np.testing.assert_array_equal(heads[-1], run.trained.personal("cem").weights[0])
