"""The loss of both engines, in TensorFlow: cross-entropy over the labels that count."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


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
