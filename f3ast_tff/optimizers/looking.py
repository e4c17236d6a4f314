"""The gradient of a local step whose optimizer looks elsewhere before it steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from f3ast_tff.core.errors import ComponentError
from f3ast_tff.optimizers.optimizer import Optimizer


def looked(optimizer: Optimizer, find: Callable[[Any], Any], weights: Any, here: Any) -> Any:
    """Returns (1 - s) g(w) + s g(look(w)), s being the optimizer's `look_share`.

    Args:
        optimizer: Client optimizer.
        find: Gradient g of the loss of the step's batch.
        weights: w, `float32 [..., num_weights]`, of NumPy or JAX.
        here: g(w), like the weights.

    Raises:
        ComponentError: If `look` returns another shape.
    """
    place = optimizer.look(lambda at: here if at is weights else find(at), weights)
    if np.shape(place) != np.shape(weights):
        name = f"optimizer {type(optimizer).__name__}: look"
        said = f"returned shape {list(np.shape(place))}, must be {list(np.shape(weights))}"
        raise ComponentError(f"{name} {said}, the weights at which the gradient is taken")
    there, share = find(place), np.float32(optimizer.look_share)
    return there if share == 1 else (1 - share) * here + share * there
