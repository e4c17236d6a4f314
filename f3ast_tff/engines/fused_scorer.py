"""Per-example losses under the current model, compiled once for all sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from f3ast_tff.engines.fused_round import Tree, cross_entropy

# Examples scored at once: bounds memory, and makes one shape of all calls.
_CHUNK = 4096


class FusedScorer:
    """Scores rows of a split that lives on the device."""

    def __init__(
        self, apply: Callable[[Tree, Any], Any], features: Any, labels: Any, on_trace: Callable
    ) -> None:
        """Takes the model, the split's device arrays, and what to call at each compilation."""
        self._features = features
        self._labels = labels
        self._chunk = min(_CHUNK, len(labels))

        def score(weights: Tree, features: Any, labels: Any, rows: Any) -> Any:
            on_trace()
            logits = apply(weights, features[rows])
            correct = jnp.argmax(logits, axis=-1) == labels[rows]
            return jnp.stack([cross_entropy(logits, labels[rows]), correct.astype(jnp.float32)])

        self._score = jax.jit(score)

    def rows(self, weights: Tree, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns loss and correctness of examples, both `float64 [n]`.

        Args:
            weights: The model.
            rows: Rows of the split, `int [n]`.
        """
        padded = np.zeros(-(-len(rows) // self._chunk) * self._chunk, np.int32)
        padded[: len(rows)] = rows
        parts = [
            self._score(weights, self._features, self._labels, chunk)
            for chunk in padded.reshape(-1, self._chunk)
        ]
        values = np.concatenate([np.asarray(part) for part in parts], axis=1).astype(np.float64)
        return values[0, : len(rows)], values[1, : len(rows)]
