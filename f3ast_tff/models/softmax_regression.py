"""Softmax regression, the model of Synthetic(alpha, beta)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class SoftmaxRegression:
    """Logits x W + b; starts from zeros, the loss being convex.

    Attributes:
        num_features: Length of x.
        num_classes: Number of classes.
    """

    num_features: int
    num_classes: int

    def initial_weights(self, seed: int) -> list[np.ndarray]:
        """Returns W `float32 [num_features, num_classes]` and b `float32 [num_classes]`."""
        shape = (self.num_features, self.num_classes)
        return [np.zeros(shape, np.float32), np.zeros(self.num_classes, np.float32)]

    def apply(self, weights: Any, features: Any) -> Any:
        """Returns logits `[batch, num_classes]`, in the arrays' own framework."""
        return features @ weights[0] + weights[1]

    def keras_model(self) -> Any:
        """Returns the Keras model, features `[batch, num_features]` to logits."""
        import tensorflow as tf

        return tf.keras.Sequential(
            [
                tf.keras.layers.InputLayer((self.num_features,)),
                tf.keras.layers.Dense(self.num_classes, kernel_initializer="zeros"),
            ]
        )
