"""What a model is to the engines."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np


class Model(Protocol):
    """A classifier that gives logits; the loss is cross-entropy, averaged over a batch."""

    def initial_weights(self, seed: int) -> list[np.ndarray]:
        """Returns the weights that training starts from, a pure function of the seed."""
        ...

    def apply(self, weights: Any, features: Any) -> Any:
        """Returns the logits, a pure function of JAX arrays."""
        ...

    def keras_model(self) -> Any:
        """Returns a new Keras model whose trainable weights are in the order of the above."""
        ...
