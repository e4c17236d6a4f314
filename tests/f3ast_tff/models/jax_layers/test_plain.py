"""Whole networks of fast layers against the same networks of plain ones, in float64.

Rounding is no excuse there: in float32 a ReLU of a deep network may flip.
"""

from __future__ import annotations

import dataclasses
import importlib

import numpy as np
import pytest
from jax.experimental import enable_x64

from f3ast_tff.models import CharacterLSTM, ResNet18, SmallCNN
from f3ast_tff.models.jax_layers import plain
from tests.f3ast_tff.models.networks import Network, images, text

LAYERS = ("convolution", "group_norm", "lstm", "max_pool")
NETWORKS = [
    pytest.param(text(CharacterLSTM(units=8), 12, 0), id="lstm"),
    pytest.param(images(SmallCNN((4, 8), (16,), (24, 24, 3), 10), 24, 10, 0), id="cnn"),
    # ResNet-18 takes XLA a minute to compile, twice.
    pytest.param(images(ResNet18("strided"), 24, 100, 0), id="resnet18", marks=[pytest.mark.slow]),
]


@pytest.mark.parametrize("network", NETWORKS)
def test_logits_and_gradients(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = [weight.astype(np.float64) for weight in network.weights()]
    if network.inputs.dtype == np.float32:
        network = dataclasses.replace(network, inputs=network.inputs.astype(np.float64))
    with enable_x64():
        fast = network.jax_logits_and_gradient(weights)
        for layer in LAYERS:
            module = importlib.import_module(f"f3ast_tff.models.jax_layers.{layer}")
            monkeypatch.setattr(module, layer, getattr(plain, layer))
        slow = network.jax_logits_and_gradient(weights)
    for got, expected in zip([fast[0], *fast[1]], [slow[0], *slow[1]]):
        assert expected.dtype == np.float64
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
