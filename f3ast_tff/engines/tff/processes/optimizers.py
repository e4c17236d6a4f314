"""TFF optimizers from their values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from f3ast_tff.optimizer import Optimizer


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
    """Returns the TFF optimizer that a value describes."""
    learning, o = tff.learning.optimizers, optimizer
    builders: dict[str, Callable[[], tff.learning.optimizers.Optimizer]] = {
        "sgd": lambda: learning.build_sgdm(o.learning_rate, o.momentum),
        "adam": lambda: learning.build_adam(o.learning_rate, o.beta_1, o.beta_2, o.epsilon),
        "yogi": lambda: learning.build_yogi(
            o.learning_rate, o.beta_1, o.beta_2, o.epsilon, o.initial_accumulator
        ),
        "adagrad": lambda: learning.build_adagrad(
            o.learning_rate, o.initial_accumulator, o.epsilon
        ),
    }
    built = builders[optimizer.name]()
    if optimizer.clip_norm is not None:
        return _Clipped(built, optimizer.clip_norm)
    return built
