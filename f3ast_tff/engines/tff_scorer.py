"""Per-example losses of a Keras model, in this process."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from f3ast_tff.engines.engine import ClientScores
from f3ast_tff.federated_data import ClientExamples

_CHUNK = 8192


class KerasScorer:
    """Scores examples under given weights; one compiled function for all sizes."""

    def __init__(self, model: Any) -> None:
        """Takes a Keras model that gives logits."""
        self._model = model
        signature = [
            tf.TensorSpec([None, *model.input_shape[1:]], tf.float32),
            tf.TensorSpec([None], tf.int32),
        ]
        self._score = tf.function(self._score_chunk, input_signature=signature)

    def _score_chunk(self, x: Any, y: Any) -> Any:
        logits = self._model(x, training=False)
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits)
        return loss, tf.equal(tf.argmax(logits, axis=-1, output_type=tf.int32), y)

    def examples(
        self, weights: list[np.ndarray], x: np.ndarray, y: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns the loss and whether the prediction is right, both `float64 [n]`."""
        self._model.set_weights(weights)
        cuts = range(0, max(len(y), 1), _CHUNK)
        parts = [self._score(x[i : i + _CHUNK], y[i : i + _CHUNK]) for i in cuts]
        loss = np.concatenate([np.asarray(part[0], np.float64) for part in parts])
        correct = np.concatenate([np.asarray(part[1], np.float64) for part in parts])
        return loss, correct

    def clients(self, weights: list[np.ndarray], data: ClientExamples) -> ClientScores:
        """Scores all clients of a split."""
        loss, correct = self.examples(weights, data.features, data.labels)
        return ClientScores.of_examples(loss, correct, data.sizes)
