"""Each network with a batch for it, and its loss and gradient in JAX."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from f3ast_tff.models import (
    CharacterLSTM,
    ResNet18,
    SmallCNN,
    SoftmaxRegression,
    cafed_cnn,
    fedlaavg_cnn,
)

# Compiling with all optimisations would take longer than a test's computation.
QUICKLY = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


def run(function: Any, *arguments: Any) -> Any:
    """Returns `function(*arguments)`, compiled by XLA as a whole."""
    import jax

    return jax.jit(function).lower(*arguments).compile(compiler_options=QUICKLY)(*arguments)


@dataclass(frozen=True)
class Network:
    """A model and a batch.

    Attributes:
        model: The model.
        inputs: A batch of inputs.
        labels: Labels of the inputs, `[batch]` or `[batch, length]`.
        num_parameters: Number of entries of its weights.
    """

    model: Any
    inputs: np.ndarray
    labels: np.ndarray
    num_parameters: int

    def weights(self) -> list[np.ndarray]:
        """Initial weights, disturbed so that weights of one shape differ."""
        rng = np.random.default_rng(3)
        return [
            weight + rng.normal(0, 0.1 if weight.ndim == 1 else 0.001, weight.shape).astype("f")
            for weight in self.model.initial_weights(1)
        ]

    def jax_logits_and_gradient(
        self, weights: list[np.ndarray]
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """Returns the logits and the gradient of the mean cross-entropy plus the penalty."""
        import jax
        import jax.numpy as jnp

        def loss(weights: Any, inputs: Any, labels: Any) -> tuple[Any, Any]:
            logits = self.model.apply(weights, inputs)
            likelihood = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1)
            return self.model.penalty(weights) - likelihood.mean(), logits

        arguments = (weights, self.inputs, self.labels.astype(np.int32))
        gradient, logits = run(jax.grad(loss, has_aux=True), *arguments)
        return np.asarray(logits), [np.asarray(part) for part in gradient]


def images(
    model: Any, side: int, num_classes: int, num_parameters: int, channels: int = 3
) -> Network:
    """Returns a network with a batch of two images."""
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(2, side, side, channels)).astype(np.float32)
    return Network(model, inputs, rng.integers(0, num_classes, 2), num_parameters)


def text(model: CharacterLSTM, length: int, num_parameters: int) -> Network:
    """Returns a network with two sequences."""
    ids = np.random.default_rng(0).integers(0, model.vocabulary, (2, length + 1))
    return Network(model, ids[:, :-1].astype(np.uint8), ids[:, 1:], num_parameters)


_SOFTMAX = SoftmaxRegression(784, 10, ridge=0.01, input_shape=(28, 28, 1))

NETWORKS = [
    pytest.param(images(ResNet18("released"), 24, 100, 11_227_812), id="resnet18-released"),
    pytest.param(images(ResNet18("strided"), 24, 100, 11_227_812), id="resnet18-strided"),
    pytest.param(text(CharacterLSTM(), 12, 820_522), id="character-lstm"),
    pytest.param(images(fedlaavg_cnn(), 32, 10, 62_006), id="fedlaavg-cnn"),
    pytest.param(images(cafed_cnn(), 32, 10, 3_353_034), id="cafed-cnn"),
    # The convolution has 5 * 5 * 3 * 4 + 4. Of 17 rows 13, then 6 are left: 6 * 6 * 4 * 10 + 10.
    pytest.param(images(SmallCNN((4,), (), (35, 35, 3), 10, shrink=2), 35, 10, 1_754), id="small"),
    pytest.param(images(_SOFTMAX, 28, 10, 7_850, channels=1), id="softmax-regression"),
]
