"""Layers in JAX, compared with TensorFlow and calculations by hand."""

from __future__ import annotations

import dataclasses
import functools
import importlib
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
import pytest

from f3ast_tff.models import CharacterLSTM, ResNet18, SmallCNN
from f3ast_tff.models.jax_layers import plain
from f3ast_tff.models.jax_layers.convolution import convolution
from f3ast_tff.models.jax_layers.group_norm import group_norm
from f3ast_tff.models.jax_layers.lstm import Layer, lstm
from f3ast_tff.models.jax_layers.max_pool import max_pool
from tests.f3ast_tff.models.networks import Network, images, run, text

LAYERS = ("convolution", "group_norm", "lstm", "max_pool")
NETWORKS = [
    pytest.param(text(CharacterLSTM(units=8), 12, 0), id="lstm"),
    pytest.param(images(SmallCNN((4, 8), (16,), (24, 24, 3), 10), 24, 10, 0), id="cnn"),
    # XLA takes a minute to compile ResNet-18, twice.
    pytest.param(images(ResNet18("strided"), 24, 100, 0), id="resnet18", marks=[pytest.mark.slow]),
]


@pytest.fixture
def float64() -> Iterator[None]:
    """JAX computes in float64; newer JAX has another name for the context manager."""
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


@pytest.mark.long
@pytest.mark.parametrize("network", NETWORKS)
def test_logits_and_gradients(
    network: Network, monkeypatch: pytest.MonkeyPatch, float64: None
) -> None:
    weights = [weight.astype(np.float64) for weight in network.weights()]
    if network.inputs.dtype == np.float32:
        network = dataclasses.replace(network, inputs=network.inputs.astype(np.float64))
    fast = network.jax_logits_and_gradient(weights)
    for layer in LAYERS:
        module = importlib.import_module(f"f3ast_tff.models.jax_layers.{layer}")
        monkeypatch.setattr(module, layer, getattr(plain, layer))
    slow = network.jax_logits_and_gradient(weights)
    for got, expected in zip([fast[0], *fast[1]], [slow[0], *slow[1]]):
        assert expected.dtype == np.float64
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("sides", "size", "stride", "padding"),
    [((12, 12), 3, 2, "same"), ((7, 6), 3, 2, "same"), ((7, 6), 2, 2, "valid")],
)
def test_value_and_gradient(sides: tuple[int, int], size: int, stride: int, padding: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(*sides, 2, 3)).astype(np.float32)

    def both(function: Any) -> tuple[Any, Any]:
        def total(x: Any) -> tuple[Any, Any]:
            y = function(x, size, stride, padding)
            return (y**3).sum(), y

        return run(jax.grad(total, has_aux=True), x)

    (gradient, y), (expected_gradient, expected_y) = both(max_pool), both(plain.max_pool)
    np.testing.assert_array_equal(y, expected_y)
    np.testing.assert_allclose(gradient, expected_gradient, atol=1e-5)


def test_groups_by_hand() -> None:
    """Channels 0 and 1 are one group: values 1, 3, 5, 7 with mean 4 and variance 5.

    Channels 2 and 3 are 10 everywhere: variance 0, so only the offset is left.
    """
    x = np.array([[1, 3, 10, 10], [5, 7, 10, 10]], np.float32).reshape(2, 1, 1, 4)
    scale = np.array([1, 2, 3, 4], np.float32)
    offset = np.array([0, 0.5, 1, -1], np.float32)
    normalise = functools.partial(group_norm, groups=2, epsilon=4.0)
    got = np.asarray(run(normalise, x, scale, offset)).reshape(2, 4)
    expected = [[-3 / 3, 2 * -1 / 3 + 0.5, 1, -1], [1 / 3, 2 * 3 / 3 + 0.5, 1, -1]]
    np.testing.assert_allclose(got, expected, atol=1e-6)


def test_examples_do_not_mix() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 3, 2, 8)).astype(np.float32)
    scale, offset = rng.normal(size=(2, 8)).astype(np.float32)
    normalise = functools.partial(group_norm, groups=4)
    together = run(normalise, x, scale, offset)
    alone = run(normalise, x[:, :, 1:], scale, offset)
    np.testing.assert_allclose(together[:, :, 1:], alone, atol=1e-6)


@pytest.mark.parametrize(
    ("sides", "size", "stride", "padding"),
    [
        ((6, 6), 3, 1, "same"),
        ((5, 4), 3, 1, "same"),
        ((1, 1), 3, 1, "same"),
        ((6, 6), 3, 2, "same"),
        ((3, 3), 3, 2, "same"),
        ((2, 2), 3, 2, "same"),
        ((24, 24), 7, 2, "same"),
        ((3, 3), 1, 2, "same"),
        ((9, 8), 5, 1, "valid"),
    ],
)
def test_value_and_gradients(sides: tuple[int, int], size: int, stride: int, padding: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(*sides, 2, 5)).astype(np.float32)
    kernel = rng.normal(size=(size, size, 5, 4)).astype(np.float32)

    def both(function: Any) -> tuple[Any, Any]:
        def total(x: Any, kernel: Any) -> tuple[Any, Any]:
            y = function(x, kernel, stride, padding)
            return (y**2).sum(), y

        return run(jax.grad(total, argnums=(0, 1), has_aux=True), x, kernel)

    (ours, ours_y), (theirs, theirs_y) = both(convolution), both(plain.convolution)
    np.testing.assert_allclose(ours_y, theirs_y, atol=1e-4)
    for got, expected in zip(ours, theirs):
        np.testing.assert_allclose(got, expected, atol=1e-4 * np.abs(expected).max())


@pytest.mark.long
@pytest.mark.parametrize("on", ["cpu", "default"])
@pytest.mark.parametrize(("length", "num_layers"), [(13, 2), (5, 3), (8, 1)])
def test_value_and_gradients_of_lstm(
    length: int, num_layers: int, on: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The form of a CPU, and that of an accelerator, whose layers step together in chunks of 8."""
    monkeypatch.setattr(jax.lax, "platform_dependent", lambda *values, **forms: forms[on](*values))
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray:
        return rng.normal(0, 0.3, shape).astype(np.float32)

    x = normal(length, 2, 3)
    layers = [
        Layer(normal(4 if layer else 3, 16), normal(4, 16), normal(16))
        for layer in range(num_layers)
    ]

    def both(function: Any) -> tuple[Any, Any]:
        def total(x: Any, layers: Any) -> tuple[Any, Any]:
            y = function(x, layers)
            return (y**3).sum(), y

        gradients, y = run(jax.grad(total, (0, 1), has_aux=True), x, layers)
        return y, jax.tree_util.tree_leaves(gradients)

    (ours, our_gradients), (theirs, their_gradients) = both(lstm), both(plain.lstm)
    np.testing.assert_allclose(ours, theirs, atol=1e-6)
    for got, expected in zip(our_gradients, their_gradients, strict=True):
        np.testing.assert_allclose(got, expected, atol=1e-5)


def test_one_step_by_hand() -> None:
    """All gates are s(0) = 1/2, the cell's candidate is tanh(1): h = tanh(tanh(1) / 2) / 2."""
    bias = np.array([0, 0, 1, 0], np.float32)
    zeros = np.zeros((1, 4), np.float32)
    got = run(lstm, np.zeros((1, 1, 1), np.float32), [Layer(zeros, zeros, bias)])
    np.testing.assert_allclose(got, [[[np.tanh(np.tanh(1) / 2) / 2]]], rtol=1e-6)
