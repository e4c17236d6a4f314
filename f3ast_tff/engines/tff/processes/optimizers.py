"""TFF optimizers from their values."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from f3ast_tff.optimizers import Optimizer


class _Clipped(tff.learning.optimizers.Optimizer):
    """An optimizer whose gradients are first clipped to a global norm."""

    def __init__(self, inner: tff.learning.optimizers.Optimizer, norm: float) -> None:
        self._inner = inner
        self._norm = norm

    def initialize(self, specs: Any) -> Any:
        return self._inner.initialize(specs)

    def next(self, state: Any, weights: Any, gradients: Any) -> Any:
        clipped, _ = tf.clip_by_global_norm(tf.nest.flatten(gradients), self._norm)
        return self._inner.next(state, weights, tf.nest.pack_sequence_as(gradients, clipped))

    def get_hparams(self, state: Any) -> Any:
        return self._inner.get_hparams(state)

    def set_hparams(self, state: Any, hparams: Any) -> Any:
        return self._inner.set_hparams(state, hparams)


def build_optimizer(optimizer: Optimizer) -> tff.learning.optimizers.Optimizer:
    """Returns the TFF optimizer that a value describes.

    Raises:
        ParameterError: If it has no form in TFF.
    """
    built, limit = optimizer.in_tff(), optimizer.clip_norm
    return built if limit is None else _Clipped(built, limit)
