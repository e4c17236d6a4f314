"""A model of two functions over a pytree, and a training function as a plug-in's component."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from f3ast_tff import compare, load_run, simulate
from f3ast_tff.analysis.compare.methods import differences, methods_of
from f3ast_tff.analysis.run_groups import collect
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.engines.components import TffConfig
from f3ast_tff.models import PureModel, SoftmaxRegression
from tests.f3ast_tff.models.networks import run

ROOT = Path(__file__).parents[3]


def init(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        "out": {"kernel": rng.normal(size=(4, 3)), "bias": np.zeros(3, np.float32)},
        "hidden": [rng.normal(size=(2, 4)).astype(np.float32)],
    }


def apply(weights: dict[str, Any], inputs: Any) -> Any:
    import jax.numpy as jnp

    hidden = jnp.tanh(inputs @ weights["hidden"][0])
    return hidden @ weights["out"]["kernel"] + weights["out"]["bias"]


def ridge(weights: dict[str, Any]) -> Any:
    return (weights["out"]["kernel"] ** 2).sum()


MODEL = PureModel(init, apply)
INPUTS = np.random.default_rng(5).normal(size=(6, 2)).astype(np.float32)


def test_weights_are_the_leaves_and_go_back_into_the_tree() -> None:
    """Leaves are in the order of the keys: hidden, then bias and kernel of out."""
    weights = MODEL.initial_weights(3)
    assert [w.shape for w in weights] == [(2, 4), (3,), (4, 3)]
    assert {w.dtype for w in weights} == {np.dtype(np.float32)}
    tree, expected = MODEL.tree(weights), init(3)
    assert tree.keys() == expected.keys()
    np.testing.assert_array_equal(tree["out"]["kernel"], np.float32(expected["out"]["kernel"]))
    again, other = MODEL.initial_weights(3), MODEL.initial_weights(4)
    assert all(np.array_equal(a, b) for a, b in zip(weights, again))
    assert not np.array_equal(weights[0], other[0])


def test_apply_is_the_function_given() -> None:
    weights = MODEL.initial_weights(3)
    expected = np.asarray(apply(MODEL.tree(weights), INPUTS))
    np.testing.assert_allclose(run(MODEL.apply, weights, INPUTS), expected, rtol=1e-6)
    assert MODEL.examples_at_once == 512 and PureModel(init, apply, 7).examples_at_once == 7


def test_the_first_call_may_be_under_a_transformation() -> None:
    import jax

    weights = MODEL.initial_weights(0)
    stacked = [np.stack([w, w]) for w in weights]
    calls = []

    def init_in_jax(seed: int) -> Any:
        calls.append(seed)
        key = jax.random.PRNGKey(seed)
        start = {name: np.asarray(jax.random.normal(key, ())) for name in ("out",)}
        assert start
        return init(seed)

    fresh = PureModel(init_in_jax, apply)
    together = jax.jit(jax.vmap(fresh.apply, (0, None)))(stacked, INPUTS)
    np.testing.assert_allclose(together[1], apply(MODEL.tree(weights), INPUTS), rtol=1e-5)
    fresh.apply(weights, INPUTS)
    assert calls == [0], "the structure is computed once"


def test_penalty() -> None:
    weights = MODEL.initial_weights(0)
    assert MODEL.penalty(weights) == 0
    found = PureModel(init, apply, penalty=ridge).penalty(weights)
    np.testing.assert_allclose(found, (weights[2] ** 2).sum(), rtol=1e-6)


@pytest.mark.long
def test_it_pickles_after_use() -> None:
    MODEL.apply(MODEL.initial_weights(0), INPUTS)
    program = (
        "import pickle, sys; import numpy as np\n"
        "model = pickle.loads(sys.stdin.buffer.read())\n"
        "print(np.asarray(model.apply(model.initial_weights(0), np.ones((1, 2), 'f'))).tolist())"
    )
    content = pickle.dumps(MODEL)
    found = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, input=content, capture_output=True, check=True
    )
    expected = np.asarray(apply(init(0), np.ones((1, 2), np.float32)))
    np.testing.assert_allclose(eval(found.stdout), expected, rtol=1e-5)


KERNEL = np.zeros((4, 3), np.float32)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (
            {"out": {"kernel": KERNEL, "bias": "text"}},
            r"weights\['out'\]\['bias'\] must be an array .* not a str",
        ),
        (
            {"out": {"kernel": KERNEL, "bias": 0.5}},
            r"weights\['out'\]\['bias'\] must be an array .* not a float",
        ),
        (
            {"out": {"kernel": KERNEL, "bias": np.zeros(3, np.int32)}},
            r"weights\['out'\]\['bias'\] .* not an array of int32",
        ),
        ({}, "init must return weights"),
        ({"w": np.zeros(2), "m": np.array([0, -np.inf])}, r"weights\['m'\] .* it has -inf"),
        ({"w": np.full(2, 1e39)}, r"weights\['w'\] must be of finite .* in float32; it has 1e\+39"),
    ],
)
def test_what_is_no_weights_is_refused(weights: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        PureModel(lambda seed: weights, apply).initial_weights(0)


def test_there_is_no_keras_model() -> None:
    with pytest.raises(ParameterError, match="engine = tff: must be fused.*runs on fused only"):
        MODEL.keras_model()


def test_tff_refuses_it_before_tensorflow_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "f3ast_tff.engines.tff.choosing", None)
    parts: Any = SimpleNamespace(model=MODEL)
    with pytest.raises(ParameterError, match="engine = tff: must be fused"):
        TffConfig().build(parts)


def test_leaves_of_any_floating_type() -> None:
    import jax.numpy as jnp

    model = PureModel(lambda seed: [jnp.ones(2, jnp.bfloat16), np.ones(2, np.float16)], apply)
    assert [w.dtype for w in model.initial_weights(0)] == [np.float32, np.float32]


def test_a_pure_softmax_regression_is_the_built_in_one() -> None:
    built_in = SoftmaxRegression(2, 3)
    pure = PureModel(built_in.initial_weights, built_in.apply)
    weights = [np.ones((2, 3), np.float32), np.arange(3, dtype=np.float32)]
    np.testing.assert_array_equal(pure.apply(weights, INPUTS), built_in.apply(weights, INPUTS))


@pytest.mark.long
def test_the_fused_engine_trains_it_as_the_built_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The built-in model runs without its single kernel, whose sums have another order."""
    from f3ast_tff import simulate
    from f3ast_tff.engines.jax import one_kernel

    monkeypatch.setattr(one_kernel, "_TRIED", set())

    built_in = SoftmaxRegression(60, 10)
    own = PureModel(built_in.initial_weights, built_in.apply, convex=True)
    models: list[Any] = [built_in, own]
    first, second = (
        simulate(task="synthetic", num_clients=12, model=model, rounds=2, eval_every=1).metrics
        for model in models
    )
    measured = [name for name in first.columns if "seconds" not in name]
    assert first[measured].equals(second[measured])
    assert len(measured) > 5


@pytest.mark.long
def test_statistics_of_a_short_batch_are_of_the_clients_own_examples() -> None:
    """Batches of 6 hold a client's 3 examples twice: the same means and variances."""
    from f3ast_tff import FederatedData, simulate

    features = np.random.default_rng(2).normal(size=(9, 2)) + np.arange(9)[:, None]
    data = FederatedData.from_arrays(features, [0, 1, 2] * 3, np.repeat([0, 1, 2], 3), test=None)

    def normed(weights: dict[str, Any], inputs: Any) -> Any:
        return apply(weights, (inputs - inputs.mean(axis=0)) / inputs.std(axis=0))

    common = {"model": PureModel(init, normed, examples_at_once=9), "algorithm": "fedavg_all"}
    common |= {"availability": "always", "clients_per_round": 3, "rounds": 2, "client_lr": 0.5}
    full, short = (simulate(data, batch_size=size, **common) for size in (3, 6))
    for one, other in zip(full.weights, short.weights):
        np.testing.assert_allclose(one, other, atol=1e-6)


PAGE = Path(__file__).parents[3] / "docs" / "library.md"


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """The plug-in of the page on one's own training."""
    found = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (code,) = [each for each in found if "TrainingFunctionConfig" in each]
    path = tmp_path / "centers.py"
    path.write_text(code)
    return path


@pytest.mark.long
def test_it_runs_on_the_host_and_is_compared(plugin: Path, tmp_path: Path) -> None:
    """With another model on another engine, from folders and in memory; the page says in what."""
    for name, given in {"own": {"model": "centers"}, "plain": {"engine": "fused"}}.items():
        plugins = [str(plugin)] if name == "own" else []
        simulate(rounds=2, folder=tmp_path / "runs" / name, plugins=plugins, **given)
    run = load_run(tmp_path / "runs" / "own")
    assert (run.settings["engine"], run.settings["centers_pull"]) == ("host", 0.5)
    (row,) = differences(methods_of(collect(tmp_path / "runs").groups)).to_dict("records")
    assert row["differs_in"].startswith("model (")
    assert "engine (" in row["differs_in"]
    mine = {"algorithm": "f3ast", "model": "centers", "plugins": [str(plugin)]}
    found = compare({"own": mine, "F3AST": {"engine": "fused"}}, seeds=[0], rounds=2)
    assert len(found.differences(baseline="F3AST")) == 1


def test_models_that_train_alike_are_not_mixed(tmp_path: Path) -> None:
    """Without a training function another engine is another condition."""
    for engine in ("host", "fused"):
        simulate(rounds=2, folder=tmp_path / engine, engine=engine)
    assert not len(differences(methods_of(collect(tmp_path).groups)))


def test_another_base_class_is_named(plugin: Path) -> None:
    plugin.write_text(plugin.read_text().replace("TrainingFunctionConfig", "ModelConfig"))
    with pytest.raises(ParameterError, match="derives from TrainingFunctionConfig"):
        simulate(rounds=1, plugins=[str(plugin)], model="centers", engine="host")
