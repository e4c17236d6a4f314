"""Max pooling against XLA's window reduction."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from f3ast_tff.models.jax_layers import plain
from f3ast_tff.models.jax_layers.max_pool import max_pool
from tests.f3ast_tff.models.compiling import run


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
