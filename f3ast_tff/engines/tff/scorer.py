"""The loss of both engines in TensorFlow, and per-example losses of a Keras model."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from f3ast_tff.core.federated_data import ClientExamples
from f3ast_tff.core.preprocessing import Preprocessing
from f3ast_tff.engines.engine import ClientScores, ExampleScores
from f3ast_tff.models import Model


def label_losses(logits: Any, labels: Any) -> tuple[Any, Any]:
    """Returns the loss of each label (0 where it does not count) and whether it counts.

    Args:
        logits: `float32 [n, ..., classes]`.
        labels: Integers `[n, ...]`; a negative one does not count.

    Returns:
        Both `float32 [n, ...]`.
    """
    labels = tf.cast(labels, tf.int32)
    counts = tf.cast(labels >= 0, tf.float32)
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.maximum(labels, 0), logits)
    # A select, not a product: 0 * NaN would be NaN.
    return tf.where(labels >= 0, loss, 0.0), counts


class MeanCrossEntropy(tf.keras.losses.Loss):
    """Mean loss over a batch's labels that count."""

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Returns the mean, a scalar; there are no sample weights in TFF."""
        loss, counts = label_losses(y_pred, y_true)
        return tf.reduce_sum(loss) / tf.maximum(tf.reduce_sum(counts), 1.0)


class KerasScorer:
    """Scores examples under given weights; one compiled function for all sizes."""

    def __init__(self, model: Model, preprocessing: Preprocessing, data: ClientExamples) -> None:
        """Takes the model, what it reads, and data that looks like what is to be scored."""
        self._model = model.keras_model()
        self._preprocessing = preprocessing
        self._chunk = model.examples_at_once
        signature = [
            tf.TensorSpec([None, *column.shape[1:]], tf.as_dtype(column.dtype))
            for column in (data.features, data.labels)
        ]
        self._score = tf.function(self._score_chunk, input_signature=signature)

    def _score_chunk(self, features: Any, labels: Any) -> Any:
        logits = self._model(self._preprocessing.in_tf(features, None), training=False)
        loss, counts = label_losses(logits, labels)
        predicted = tf.argmax(logits, axis=-1, output_type=tf.int32)
        right = tf.cast(tf.equal(predicted, tf.cast(labels, tf.int32)), tf.float32)
        rest = list(range(1, len(labels.shape)))
        return tf.stack([tf.reduce_sum(column, rest) for column in (loss, right, counts)])

    def examples(
        self, weights: list[np.ndarray], features: np.ndarray, labels: np.ndarray
    ) -> ExampleScores:
        """Scores examples `[n, ...]`, as stored."""
        self._model.set_weights(weights)
        cuts = [slice(i, i + self._chunk) for i in range(0, max(len(labels), 1), self._chunk)]
        parts = [np.asarray(self._score(features[cut], labels[cut])) for cut in cuts]
        loss, correct, count = np.concatenate(parts, axis=1).astype(np.float64)
        return ExampleScores(loss, correct, count)

    def clients(self, weights: list[np.ndarray], data: ClientExamples) -> ClientScores:
        """Scores all clients of a split."""
        scores = self.examples(weights, data.features, data.labels)
        return ClientScores.of_examples(scores, data.sizes)
