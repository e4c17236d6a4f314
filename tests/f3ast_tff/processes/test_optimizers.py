"""TFF optimizers built from values, against the formulas by hand."""

from __future__ import annotations

import numpy as np

from f3ast_tff.optimizer import Optimizer


def steps(optimizer: Optimizer, gradients: list[np.ndarray]) -> np.ndarray:
    import tensorflow as tf

    from f3ast_tff.processes.optimizers import build_optimizer

    built = build_optimizer(optimizer)
    weights = tf.zeros(2)
    state = built.initialize(tf.TensorSpec([2], tf.float32))
    for gradient in gradients:
        state, weights = built.next(state, weights, tf.constant(gradient, tf.float32))
    return weights.numpy()


def test_sgd() -> None:
    got = steps(Optimizer("sgd", 0.5), [np.array([1.0, -2.0]), np.array([0.0, 2.0])])
    np.testing.assert_allclose(got, [-0.5, 0.0])


def test_gradients_are_clipped_to_the_global_norm() -> None:
    """(3, 4) has norm 5 and is scaled to (0.6, 0.8); (0.3, 0.4) is left as it is."""
    clipped = Optimizer("sgd", 1.0, clip_norm=1.0)
    np.testing.assert_allclose(steps(clipped, [np.array([3.0, 4.0])]), [-0.6, -0.8], rtol=1e-6)
    np.testing.assert_allclose(steps(clipped, [np.array([0.3, 0.4])]), [-0.3, -0.4], rtol=1e-6)


def test_adam_adds_epsilon_to_the_root_of_the_uncorrected_moment() -> None:
    """m, v from 0; step lr sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt(v) + eps)."""
    gradients = [np.array([1.0, -2.0]), np.array([0.5, 2.0])]
    m = v = w = np.zeros(2)
    for t, g in enumerate(gradients, start=1):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        rate = 0.1 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        w = w - rate * m / (np.sqrt(v) + 0.01)
    np.testing.assert_allclose(steps(Optimizer("adam", 0.1, epsilon=0.01), gradients), w, rtol=1e-5)
