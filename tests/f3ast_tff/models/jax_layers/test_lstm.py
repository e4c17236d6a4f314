"""The LSTM and its hand-written gradient."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from f3ast_tff.models.jax_layers import plain
from f3ast_tff.models.jax_layers.lstm import lstm
from tests.f3ast_tff.models.compiling import run


def test_value_and_gradients() -> None:
    rng = np.random.default_rng(0)
    shapes = [(5, 2, 3), (3, 16), (4, 16), (16,)]
    arguments = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
    upstream = rng.normal(size=(5, 2, 4)).astype(np.float32)

    def both(function: Any) -> tuple[Any, Any]:
        def value_and_gradients(*arguments: Any) -> tuple[Any, Any]:
            y, back = jax.vjp(function, *arguments)
            return y, back(upstream)

        return run(value_and_gradients, *arguments)

    (ours, our_gradients), (theirs, their_gradients) = both(lstm), both(plain.lstm)
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
    for got, expected in zip(our_gradients, their_gradients):
        np.testing.assert_allclose(got, expected, atol=1e-5)


def test_one_step_by_hand() -> None:
    """All gates at s(0) = 1/2 but the cell's candidate, tanh(1): h = tanh(tanh(1) / 2) / 2."""
    bias = np.array([0, 0, 1, 0], np.float32)
    zeros = np.zeros((1, 1, 1), np.float32), np.zeros((1, 4), np.float32)
    got = run(lstm, *zeros, zeros[1], bias)
    np.testing.assert_allclose(got, [[[np.tanh(np.tanh(1) / 2) / 2]]], rtol=1e-6)
