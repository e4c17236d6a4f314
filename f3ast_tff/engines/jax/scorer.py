"""Per-example losses under the current model, compiled once for all sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from f3ast_tff.engines.engine import ExampleScores
from f3ast_tff.engines.jax.cross_entropy import label_sums
from f3ast_tff.engines.jax.devices import at_precision
from f3ast_tff.engines.jax.optimizers import Tree
from f3ast_tff.models import Model
from f3ast_tff.preprocessing import Preprocessing


class FusedScorer:
    """Scores rows of a split that lives on the device."""

    def __init__(
        self,
        model: Model,
        preprocessing: Preprocessing,
        features: Any,
        labels: Any,
        on_trace: Callable,
        matmul_precision: str = "highest",
    ) -> None:
        """Takes the model, what it reads, the split's device arrays, and a tracing callback.

        Args:
            model: The network.
            preprocessing: From features to what it reads.
            features: Of the split, on the device.
            labels: Of the split, on the device.
            on_trace: Called at each compilation.
            matmul_precision: See `FusedEngine`.
        """
        self._features = features
        self._labels = labels
        # One shape of all calls: one compilation.
        self._chunk = max(1, min(model.examples_at_once, len(labels)))

        def score(weights: Tree, features: Any, labels: Any, rows: Any) -> Any:
            on_trace()
            logits = model.apply(weights, preprocessing.in_jax(features[rows], None))
            return jnp.stack(label_sums(logits, labels[rows]))

        self._score = jax.jit(at_precision(matmul_precision, score))

    def rows(self, weights: Tree, rows: np.ndarray) -> ExampleScores:
        """Scores examples under a model.

        Args:
            weights: The model.
            rows: Rows of the split, `int [n]`.
        """
        padded = np.zeros(max(1, -(-len(rows) // self._chunk)) * self._chunk, np.int32)
        padded[: len(rows)] = rows
        parts = [
            self._score(weights, self._features, self._labels, chunk)
            for chunk in padded.reshape(-1, self._chunk)
        ]
        values = np.concatenate([np.asarray(part) for part in parts], axis=1).astype(np.float64)
        return ExampleScores(*values[:, : len(rows)])
