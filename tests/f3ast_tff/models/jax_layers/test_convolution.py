"""Convolutions as matrix products against XLA's own convolution."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from f3ast_tff.models.jax_layers import plain
from f3ast_tff.models.jax_layers.convolution import convolution
from tests.f3ast_tff.models.compiling import run


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
