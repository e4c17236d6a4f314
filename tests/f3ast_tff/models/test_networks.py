"""Properties of each network, without TensorFlow."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.models import ModelConfig, SmallCNN, SoftmaxRegression
from f3ast_tff.models.small_cnn import shrunk
from f3ast_tff.settings import builtin_registry, parameters_of, register
from f3ast_tff.settings.configuration import Settings
from tests.f3ast_tff.models.networks import NETWORKS, Network, run


@pytest.mark.long
@pytest.mark.parametrize("network", NETWORKS)
def test_number_of_parameters(network: Network) -> None:
    weights = network.model.initial_weights(0)
    assert sum(weight.size for weight in weights) == network.num_parameters
    assert {weight.dtype for weight in weights} == {np.dtype(np.float32)}


@pytest.mark.long
@pytest.mark.parametrize("network", NETWORKS[2:])
def test_initial_weights_depend_on_the_seed_alone(network: Network) -> None:
    first, again, other = (network.model.initial_weights(seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(first, again))
    drawn = [weight.std() > 0 and weight.ndim > 1 for weight in first]
    assert all(not np.array_equal(a, b) for a, b, d in zip(first, other, drawn) if d)


@pytest.mark.long
@pytest.mark.parametrize("network", NETWORKS[2:5])
def test_vmap_over_weights_is_one_client_after_the_other(network: Network) -> None:
    import jax

    apply: Any = network.model.apply
    clients = [network.model.initial_weights(seed) for seed in (1, 2)]
    stacked = [np.stack(pair) for pair in zip(*clients)]
    inputs = np.stack([network.inputs, network.inputs[::-1]])
    together = run(jax.vmap(apply), stacked, inputs)
    for client, weights in enumerate(clients):
        alone = run(apply, weights, inputs[client])
        np.testing.assert_allclose(together[client], alone, atol=1e-5)


def test_shapes_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="too small"):
        SmallCNN((6, 16), (), input_shape=(12, 12, 3))
    with pytest.raises(ValueError, match="must hold 10 numbers"):
        SoftmaxRegression(10, 2, input_shape=(3, 3))


IMAGE, GREY, SMALL = (32, 32, 3), (28, 28, 1), (12, 12, 3)
# Accepted and refused shapes of inputs, by model.
SHAPES: dict[str, tuple[list[tuple[int, ...]], list[tuple[int, ...]]]] = {
    "softmax_regression": ([(60,), IMAGE, GREY], []),
    "resnet18": ([IMAGE, (24, 24, 3)], [(60,), GREY, (32, 24, 3)]),
    "character_lstm": ([(80,)], [IMAGE, GREY]),
    "cafed_cnn": ([IMAGE, GREY], [(60,), SMALL]),
    "fedlaavg_cnn": ([IMAGE, GREY], [(60,), SMALL]),
    "small_cnn": ([IMAGE, GREY], [(60,), SMALL]),
    "character_transformer": ([(80,)], [IMAGE, GREY]),
}


@pytest.mark.long
def test_every_model_reads_some_shapes_and_refuses_the_others() -> None:
    import jax

    models = builtin_registry().components["model"]
    assert list(models) == list(SHAPES)
    for name, (readable, others) in SHAPES.items():
        for shape in readable:
            model = models[name].config().build(shape, 7)
            inputs = jax.ShapeDtypeStruct((2, *shape), np.int32 if shape == (80,) else np.float32)
            logits = jax.eval_shape(model.apply, model.initial_weights(0), inputs)
            assert logits.shape == ((2, 80, 7) if shape == (80,) else (2, 7)), (name, shape)
        for shape in others:
            with pytest.raises(ValueError, match=re.escape(str(list(shape)))):
                models[name].config().build(shape, 7)


def own_parameters(component: Any) -> list[str]:
    """Names of a model's parameters that not every model has; LoRA's are in test_trained_part."""
    shared = {parameter.name for parameter in parameters_of(ModelConfig)}
    return [each.name for each in component.parameters if each.name not in shared]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, SmallCNN((8, 16), (64,), (28, 28, 1), 7)),
        (
            {"cnn_filters": "32", "cnn_hidden": "", "cnn_shrink": 2},
            SmallCNN((32,), (), (28, 28, 1), 7, shrink=2),
        ),
        ({"cnn_hidden": "20, 10"}, SmallCNN((8, 16), (20, 10), (28, 28, 1), 7)),
    ],
)
def test_widths_of_the_small_cnn(given: dict[str, Any], expected: SmallCNN) -> None:
    config = builtin_registry().components["model"]["small_cnn"].config(**given)
    assert config.build((28, 28, 1), 7) == expected


@pytest.mark.parametrize(
    ("name", "value"),
    [("cnn_filters", ""), ("cnn_filters", "8,x"), ("cnn_hidden", "0"), ("cnn_hidden", "8,,8")],
)
def test_widths_that_are_none(name: str, value: str) -> None:
    config = builtin_registry().components["model"]["small_cnn"].config(**{name: value})
    with pytest.raises(ParameterError, match=f"^{name} = {value}: must "):
        config.check(Settings.of({"engine": "fused"}))


def test_a_shrunk_image_is_made_of_means() -> None:
    """5 x 4 pixels 0 .. 19 in rows of four: means of two by two; the fifth row is cut."""
    import jax.numpy as jnp

    image = jnp.arange(20.0).reshape(1, 5, 4, 1)
    means = shrunk(image, 2)[0, :, :, 0]
    np.testing.assert_array_equal(means, [[2.5, 4.5], [10.5, 12.5]])


def test_softmax_regression_starts_from_zeros_or_glorot() -> None:
    """Glorot's bound is sqrt(6 / (60 + 10)); W changes with the seed, and b is 0."""
    zeros = SoftmaxRegression(60, 10).initial_weights(1)
    assert [weight.shape for weight in zeros] == [(60, 10), (10,)]
    assert not any(weight.any() for weight in zeros)
    drawn = SoftmaxRegression(60, 10, start="glorot")
    kernel, bias = drawn.initial_weights(1)
    assert kernel.dtype == np.float32 and not bias.any()
    assert 0.95 * np.sqrt(6 / 70) < np.abs(kernel).max() <= np.sqrt(6 / 70)
    np.testing.assert_array_equal(kernel, drawn.initial_weights(1)[0])
    assert (kernel != drawn.initial_weights(2)[0]).all()


def test_models_without_parameters_are_the_others() -> None:
    models = builtin_registry().components["model"].values()
    found = {each.name for each in models if not own_parameters(each)}
    assert found == {"cafed_cnn", "fedlaavg_cnn"}


def test_a_model_in_jax_alone_is_refused_on_tff() -> None:
    @register("model", "of_ones_own", about="in JAX")
    @dataclass(frozen=True)
    class Config(ModelConfig):
        engines: ClassVar[tuple[str, ...]] = ("fused",)

    Config().check(Settings.of({"engine": "fused"}))
    with pytest.raises(ParameterError, match="must be fused with model of_ones_own"):
        Config().check(Settings.of({"engine": "tff"}))


def test_importing_models_imports_neither_framework() -> None:
    code = (
        "import sys, f3ast_tff.models;"
        "sys.exit(any(name in sys.modules for name in ('jax', 'tensorflow')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
