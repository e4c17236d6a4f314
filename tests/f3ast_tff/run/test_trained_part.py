"""The setting `train`: what other leaves are not, and LoRA by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff import Simulation, Trained, TrainingFunction, load_run, simulate
from f3ast_tff.campaigns.grid import plan
from f3ast_tff.cli.main import main
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.models import SoftmaxRegression, lora
from f3ast_tff.run.build import Builder
from f3ast_tff.settings.resolve import resolve

N, CLASSES, FEATURES, RANK = 12, 10, 60, 4
SMALL: dict[str, Any] = {
    "num_clients": N,
    "clients_per_round": 4,
    "rounds": 6,
    "eval_every": 3,
    "client_lr": 0.1,
    "availability": "always",
}
BASE = SoftmaxRegression(FEATURES, CLASSES, start="glorot")
FACTORS = RANK * (FEATURES + CLASSES)


def run(**given: Any) -> Simulation:
    return simulate(**{**SMALL, **given})


def lora_run(**given: Any) -> Simulation:
    return run(**{"model": lora(BASE, RANK, "head"), "train": "lora", **given})


def trained_alone(leaf: int) -> TrainingFunction:
    """Softmax regression in NumPy that has one of its two leaves trained by itself."""

    def train(weights: Any, examples: Any, work: Any) -> Trained:
        kernel, bias = (weight.copy() for weight in weights)
        for rows in work.batches:
            x, y = examples.features[rows], examples.labels[rows]
            logits = x @ kernel + bias
            error = np.exp(logits - logits.max(axis=1, keepdims=True))
            error /= error.sum(axis=1, keepdims=True)
            error[np.arange(len(y)), y] -= 1
            error /= len(y)
            if leaf:
                bias -= work.learning_rate * error.sum(axis=0)
            else:
                kernel -= work.learning_rate * x.T @ error
        return Trained([kernel, bias], 0.0)

    return TrainingFunction(BASE.initial_weights, train, lambda w, x: x @ w[0] + w[1])


@pytest.mark.long
@pytest.mark.parametrize("engine", ["host", "fused"])
@pytest.mark.parametrize(("train", "leaf"), [("head.kernel", 0), (("bias",), 1)])
def test_the_other_leaves_stay(train: Any, leaf: int, engine: str) -> None:
    """As with a training function that trains one leaf alone; only its bytes are counted."""
    found = run(model=BASE, train=train, engine=engine, algorithm="fedavg", client_lr=0.02)
    own = run(model=trained_alone(leaf), engine="host", algorithm="fedavg", client_lr=0.02)
    start = BASE.initial_weights(0)
    for place, (got, wanted) in enumerate(zip(found.weights, own.weights, strict=True)):
        np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-5)
        assert np.array_equal(got, start[place]) == (place != leaf)
    last = found.metrics.iloc[-1]
    updates = sum(len(set(ids) - {-1}) for ids in found.selection["selected"].tolist())
    assert last["bytes_up"] == last["bytes_down"] == 4 * start[leaf].size * updates


@pytest.mark.parametrize("engine", ["host", "fused"])
@pytest.mark.parametrize("algorithm", ["mifa", "scaffold"])
def test_clients_are_remembered_by_what_trains(algorithm: str, engine: str) -> None:
    settings = {**SMALL, "task": "synthetic", "algorithm": algorithm, "train": "bias"}
    state = Builder(resolve({**settings, "engine": engine})).engine.state()
    tables = [value for name, value in state.items() if name.startswith("client_")]
    assert {table.shape for table in tables if table.ndim > 1} == {(N, CLASSES)}


@pytest.mark.long
def test_factors_alone_are_trained_and_sent() -> None:
    found = lora_run(engine="fused")
    kernel, bias, a, b = found.weights
    start = BASE.initial_weights(0)
    np.testing.assert_array_equal(kernel, start[0])
    np.testing.assert_array_equal(bias, start[1])
    assert a.shape == (RANK, FEATURES) and b.any()
    last = found.metrics.iloc[-1]
    assert last["bytes_up"] == last["bytes_down"] == 4 * FACTORS * 4 * SMALL["rounds"]
    assert found.model is not None
    x = np.ones((2, FEATURES), np.float32)
    expected = x @ (kernel + (b @ a).T) + bias
    np.testing.assert_allclose(found.model.apply(found.weights, x), expected, atol=1e-5)
    np.testing.assert_allclose(found.trained.outputs(x), expected, atol=1e-5)


@pytest.mark.long
@pytest.mark.parametrize(
    ("factors", "down", "up"),
    [
        ("fedit", FACTORS, FACTORS),
        ("changes", FACTORS, FACTORS),
        # The base's change comes down whole.
        ("fedex", FACTORS + FEATURES * CLASSES, FACTORS),
        ("flora", FEATURES * CLASSES, FACTORS),
        ("ffa", RANK * CLASSES, RANK * CLASSES),
        ("rolora", FACTORS, FACTORS // 2),
    ],
)
def test_bytes_are_those_sent(factors: str, down: int, up: int) -> None:
    last = lora_run(engine="fused", factors=factors, rounds=1).metrics.iloc[-1]
    assert (last["bytes_down"], last["bytes_up"]) == (16 * down, 16 * up)


@pytest.mark.long
@pytest.mark.parametrize("factors", ["fedex", "flora", "rolora"])
def test_a_run_is_read_back(factors: str, tmp_path: Path) -> None:
    """The folder holds the whole model."""
    found = lora_run(engine="fused", factors=factors, algorithm="f3ast", folder=tmp_path / "run")
    saved = load_run(tmp_path / "run").weights
    assert saved is not None
    for own, other in zip(found.weights, saved, strict=True):
        np.testing.assert_array_equal(own, other)


@pytest.mark.long
def test_a_base_that_was_trained_before_gets_new_factors(tmp_path: Path) -> None:
    base = run(model=BASE, engine="fused", folder=tmp_path / "base")
    found = lora_run(engine="fused", initial_weights=str(tmp_path / "base"))
    for own, other in zip(base.weights, found.weights):
        np.testing.assert_array_equal(own, other)
    again = lora_run(engine="fused", initial_weights=found.weights, rounds=1)
    assert not np.array_equal(again.weights[2], found.weights[2])
    np.testing.assert_array_equal(again.weights[0], base.weights[0])


def test_a_run_of_the_command_trains_some(tmp_path: Path) -> None:
    given = [f"--{name}={value}" for name, value in SMALL.items()]
    folder = [f"--output_dir={tmp_path}", "--run_name=x", "--train=bias", "--engine=host"]
    assert main(["run", *given, *folder]) == 0
    weights = load_run(tmp_path / "x").weights
    assert weights is not None and not weights[0].any() and weights[1].any()


LEAVES = "head.kernel, head.bias"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"train": "body"}, rf"^train = body: must be among head, kernel, bias, {LEAVES}, or numb"),
        ({"train": "head"}, rf"^train = head: must leave some: it names all of {LEAVES}$"),
        ({"train": "0,1"}, rf"it names all of {LEAVES}$"),
        pytest.param(
            {"train": "bias", "engine": "tff"},
            "^engine = tff: must be fused or host with train=bias",
            marks=[pytest.mark.tff],
        ),
        ({"factors": "ffa"}, "^factors = ffa: needs train, such as train=lora$"),
        (
            {"train": "bias", "factors": "ffa"},
            r"^factors = ffa: needs factors of lora\(...\) among",
        ),
        ({"factors": "fedup"}, "^factors = fedup: did you mean fedit"),
    ],
)
def test_what_does_not_fit_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        run(task="synthetic", **given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"train": "lora,kernel"}, "^train = lora,kernel: must not name head.kernel with factors"),
        ({"aggregation": "fedvarp"}, "^aggregation = fedvarp: must be sum or mean with factors=f"),
        ({"server_optimizer": "adam"}, "^server_optimizer = adam: must be sgd with factors=fedex"),
        ({"private": "lora.A"}, "^factors = fedex: must be changes or ffa with private=lora.A$"),
        ({"delivery": "late"}, "^delivery = late: must be in time with factors=fedex"),
        ({"engine": "host"}, "^engine = host: must be "),
    ],
)
def test_what_does_not_fit_lora_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        lora_run(**{"engine": "fused", "factors": "fedex", **given})


def test_a_function_that_trains_all_is_refused() -> None:
    with pytest.raises(ParameterError, match="^train = .*: trained_alone.*train trains all leaves"):
        run(model=trained_alone(0), train="0", engine="host")


BY_NAME: dict[str, Any] = {
    "task": "synthetic",
    "num_clients": 12,
    "clients_per_round": 4,
    "rounds": 4,
    "eval_every": 4,
    "client_lr": 0.1,
    "availability": "always",
    "algorithm": "fedavg",
}


@pytest.mark.long
def test_by_name_it_is_the_model_of_the_library() -> None:
    base = resolve(BY_NAME).configs["model"].build((60,), 10)
    model = lora(base, 4, "kernel", 8.0)
    given = simulate(**BY_NAME, model=model, train="lora", factors="fedex")
    named = simulate(**BY_NAME, lora=4, lora_alpha=8.0, factors="fedex")
    for one, other in zip(named.weights, given.weights, strict=True):
        np.testing.assert_array_equal(one, other)
    assert named.metrics["bytes_up"].tolist() == given.metrics["bytes_up"].tolist()


@pytest.mark.long
def test_a_run_of_the_command_is_read_back_and_starts_another(tmp_path: Path) -> None:
    """The base of a run without factors gets factors; a run with them goes on with them."""
    given = [f"--{name}={value}" for name, value in BY_NAME.items()]
    where = f"--output_dir={tmp_path}"
    assert main(["run", *given, where, "--run_name=base"]) == 0
    start = f"--initial_weights={tmp_path / 'base'}"
    named = [where, "--run_name=x", "--lora=2", "--lora_leaves=head", "--factors=ffa"]
    assert main(["run", *given, start, *named]) == 0
    base, found = load_run(tmp_path / "base"), load_run(tmp_path / "x")
    assert base.weights is not None and found.weights is not None
    np.testing.assert_array_equal(found.weights[0], base.weights[0])
    x = np.ones((3, 60), np.float32)
    kernel, bias, a, b = found.weights
    expected = x @ (kernel + (b @ a).T) + bias
    np.testing.assert_allclose(found.trained.outputs(x), expected, atol=1e-5)
    more = simulate(**{**BY_NAME, "rounds": 1}, lora=2, initial_weights=tmp_path / "x")
    np.testing.assert_array_equal(more.weights[0], kernel)
    assert not np.array_equal(more.weights[2], a)


@pytest.mark.long
def test_the_model_of_a_run_from_before_lora_is_read(tmp_path: Path) -> None:
    run = simulate(**BY_NAME, folder=tmp_path / "x")
    path = tmp_path / "x" / "config.json"
    config = json.loads(path.read_text())
    for name in ("lora", "lora_leaves", "lora_alpha", "client_half"):
        assert name not in config["identity"]
        del config["settings"][name]
    path.write_text(json.dumps(config))
    x = np.ones((3, 60), np.float32)
    found = load_run(tmp_path / "x").trained.outputs(x)
    np.testing.assert_array_equal(found, run.trained.outputs(x))


def test_a_grid_has_ranks_and_rules(tmp_path: Path) -> None:
    grid = tmp_path / "ranks.toml"
    settings = 'task = "synthetic"\nlora_leaves = "head"'
    axes = 'lora = [2, 4]\nfactors = ["changes", "fedex"]'
    grid.write_text(f"[settings]\n{settings}\n\n[grid]\n{axes}\n")
    planned = plan(grid, {"output_dir": str(tmp_path)}).runs
    runs = [resolve(run.settings) for run in planned]
    assert [(r.settings["lora"], r.settings["factors"]) for r in runs] == [
        (2, "changes"),
        (2, "fedex"),
        (4, "changes"),
        (4, "fedex"),
    ]
    assert len({run.name for run in planned}) == 4
    assert {run.settings["train"] for run in runs} == {"lora"}
    assert {"lora", "lora_leaves", "train", "factors"} <= {*runs[0].method_settings}


def test_factors_are_not_convex() -> None:
    """So F3AST's first rates are those of other networks (R1)."""
    first = [resolve({"algorithm": "f3ast", **more}) for more in ({}, {"lora": 4})]
    assert [run.settings["rate_init"] for run in first] == ["p", "all_available"]


FUNCTION = TrainingFunction(lambda seed: [np.zeros(2)], lambda w, x, work: (w, 0.0), lambda w, x: x)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"lora": 11}, r"^lora = 11: must be from 1 to 10: head.kernel is \[60, 10\]$"),
        ({"lora": 4, "lora_leaves": "body"}, "^lora_leaves = body: must be among head, kernel"),
        ({"lora": 4, "lora_leaves": "bias"}, "^lora_leaves = bias: must name a matrix, of head.k"),
        ({"lora": 4, "model": FUNCTION}, "^lora = 4: must not be given with model "),
    ],
)
def test_names_that_do_not_fit_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        simulate(**{**BY_NAME, **given})
