"""Optimizers of both engines against the formulas of `tff.learning.optimizers` by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from f3ast_tff.optimizer import Optimizer

GRADIENTS = [np.array([1.0, -2.0]), np.array([0.5, 2.0]), np.array([0.0, 0.1])]
Steps = Callable[[Optimizer, list], np.ndarray]


def tff_steps(optimizer: Optimizer, gradients: list[np.ndarray]) -> np.ndarray:
    import tensorflow as tf

    from f3ast_tff.engines.tff.processes.optimizers import build_optimizer

    built = build_optimizer(optimizer)
    weights = tf.zeros(2)
    state = built.initialize(tf.TensorSpec([2], tf.float32))
    for gradient in gradients:
        state, weights = built.next(state, weights, tf.constant(gradient, tf.float32))
    return weights.numpy()


def jax_steps(optimizer: Optimizer, gradients: list[np.ndarray]) -> np.ndarray:
    from f3ast_tff.engines.jax.optimizers import build_optimizer

    built = build_optimizer(optimizer)
    weights = [np.zeros(2, np.float32)]
    state = built.init(weights)
    for gradient in gradients:
        gradients = [gradient.astype(np.float32)]
        state, weights = built.update(state, weights, gradients, built.learning_rate)
    return np.asarray(weights[0])


@pytest.fixture(params=[tff_steps, jax_steps])
def steps(request: pytest.FixtureRequest) -> Steps:
    return request.param


def test_sgd(steps: Steps) -> None:
    np.testing.assert_allclose(steps(Optimizer("sgd", 0.5), GRADIENTS[:2]), [-0.75, 0.0])


def test_momentum(steps: Steps) -> None:
    """v1 = (1, -2); v2 = 0.9 v1 + (0.5, 2) = (1.4, 0.2); w = -0.5 (v1 + v2)."""
    got = steps(Optimizer("sgd", 0.5, momentum=0.9), GRADIENTS[:2])
    np.testing.assert_allclose(got, [-1.2, 0.9], rtol=1e-6)


def test_gradients_are_clipped_to_the_global_norm(steps: Steps) -> None:
    """(3, 4) has norm 5 and is scaled to (0.6, 0.8); (0.3, 0.4) is left as it is."""
    clipped = Optimizer("sgd", 1.0, clip_norm=1.0)
    np.testing.assert_allclose(steps(clipped, [np.array([3.0, 4.0])]), [-0.6, -0.8], rtol=1e-6)
    np.testing.assert_allclose(steps(clipped, [np.array([0.3, 0.4])]), [-0.3, -0.4], rtol=1e-6)


def adaptive(second_moment: Callable, initial: float) -> np.ndarray:
    """Step lr sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt(v) + eps), epsilon on the uncorrected root."""
    m, v, w = np.zeros(2), np.full(2, initial), np.zeros(2)
    for t, g in enumerate(GRADIENTS, start=1):
        m, v = 0.9 * m + 0.1 * g, second_moment(v, g)
        w = w - 0.1 * np.sqrt(1 - 0.99**t) / (1 - 0.9**t) * m / (np.sqrt(v) + 0.01)
    return w


def test_adam(steps: Steps) -> None:
    expected = adaptive(lambda v, g: 0.99 * v + 0.01 * g**2, 0.0)
    got = steps(Optimizer("adam", 0.1, beta_2=0.99, epsilon=0.01), GRADIENTS)
    np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_yogi(steps: Steps) -> None:
    expected = adaptive(lambda v, g: v + 0.01 * np.sign(g**2 - v) * g**2, 0.5)
    optimizer = Optimizer("yogi", 0.1, beta_2=0.99, epsilon=0.01, initial_accumulator=0.5)
    np.testing.assert_allclose(steps(optimizer, GRADIENTS), expected, rtol=1e-5)


def test_adagrad(steps: Steps) -> None:
    """v sums squares; the step is lr g / sqrt(v + eps), epsilon under the root."""
    v, expected = np.full(2, 0.5), np.zeros(2)
    for g in GRADIENTS:
        v = v + g**2
        expected = expected - 0.1 * g / np.sqrt(v + 0.01)
    optimizer = Optimizer("adagrad", 0.1, epsilon=0.01, initial_accumulator=0.5)
    np.testing.assert_allclose(steps(optimizer, GRADIENTS), expected, rtol=1e-5)
