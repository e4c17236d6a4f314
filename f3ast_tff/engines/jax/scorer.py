"""Per-example losses under the current model, compiled once for all sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

from f3ast_tff.engines.engine import ExampleScores
from f3ast_tff.engines.jax.optimizers import Tree
from f3ast_tff.engines.jax.programs import RoundPrograms


class FusedScorer:
    """Scores rows of a split that lives on the device."""

    def __init__(
        self, programs: RoundPrograms, features: Any, labels: Any, examples_at_once: int
    ) -> None:
        """Takes the programs, and the split's arrays on the device.

        Args:
            programs: Hold the one that scores.
            features: Of the split, on the device.
            labels: Of the split, on the device.
            examples_at_once: Most examples of a call.
        """
        self._programs = programs
        self._features = features
        self._labels = labels
        # One shape of all calls: one compilation.
        self._chunk = max(1, min(examples_at_once, len(labels)))

    def rows(self, weights: Tree, rows: np.ndarray) -> ExampleScores:
        """Scores examples under a model.

        Args:
            weights: The model.
            rows: Rows of the split, `int [n]`.
        """
        padded = np.zeros(max(1, -(-len(rows) // self._chunk)) * self._chunk, np.int32)
        padded[: len(rows)] = rows
        parts = [
            self._programs.score(weights, self._features, self._labels, chunk)
            for chunk in padded.reshape(-1, self._chunk)
        ]
        values = np.concatenate([np.asarray(part) for part in parts], axis=1).astype(np.float64)
        return ExampleScores(*values[:, : len(rows)])
