"""`AmsGrad` as an optimizer of TensorFlow Federated, which has none."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff


class AmsGradInTff(tff.learning.optimizers.Optimizer):
    """See `AmsGrad`."""

    def __init__(self, learning_rate: float, beta_1: float, beta_2: float, epsilon: float) -> None:
        """Takes the parameters of `AmsGrad`."""
        self._learning_rate = learning_rate
        self._grow_1, self._grow_2 = 1 - beta_1, 1 - beta_2
        self._epsilon = epsilon

    def initialize(self, specs: Any) -> Any:
        """Returns the state: three times zeros like the weights."""

        def zeros() -> Any:
            return tf.nest.map_structure(lambda spec: tf.zeros(spec.shape, spec.dtype), specs)

        return OrderedDict(first=zeros(), second=zeros(), largest=zeros())

    def next(self, state: Any, weights: Any, gradients: Any) -> Any:
        """Returns state and weights after a step."""
        each = tf.nest.map_structure
        first = each(lambda m, g: m + (g - m) * self._grow_1, state["first"], gradients)
        second = each(
            lambda v, g: v + (tf.square(g) - v) * self._grow_2, state["second"], gradients
        )
        largest = each(tf.maximum, state["largest"], second)
        stepped = each(
            lambda w, m, v: w - self._learning_rate * m / (tf.sqrt(v) + self._epsilon),
            weights,
            first,
            largest,
        )
        return OrderedDict(first=first, second=second, largest=largest), stepped
