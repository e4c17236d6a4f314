"""A small learning process made by hand: matrix products over a client's rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import tensorflow_federated as tff


def product_process(secure: bool = False) -> tff.templates.IterativeProcess:
    """Sums x W over all rows x, in two loops; W is a variable of 3 x 3 halves.

    Args:
        secure: Whether a secure sum counts the clients.
    """
    import tensorflow as tf
    import tensorflow_federated as tff

    data_type = tff.SequenceType(tff.TensorType(np.float32, [3]))

    @tff.tensorflow.computation
    def nothing() -> Any:
        return 0.0

    @tff.tensorflow.computation(data_type)
    def work(rows: Any) -> Any:
        weights = tf.Variable(tf.fill([3, 3], 0.5))

        @tf.function
        def train() -> Any:
            def step(total: Any, row: Any) -> Any:
                return total + tf.reduce_sum(tf.matmul(row[None], weights))

            total = rows.reduce(0.0, step)
            for row in iter(rows):
                total = step(total, row)
            return total

        return train(), 1

    @tff.federated_computation
    def initialize() -> Any:
        return tff.federated_eval(nothing, tff.SERVER)

    @tff.tensorflow.computation(np.float32, np.float32)
    def add(state: Any, total: Any) -> Any:
        return state + total

    @tff.federated_computation(
        tff.FederatedType(np.float32, tff.SERVER), tff.FederatedType(data_type, tff.CLIENTS)
    )
    def next_fn(state: Any, data: Any) -> Any:
        total, one = tff.federated_map(work, data)
        count = tff.federated_secure_sum_bitwidth(one, 8) if secure else tff.federated_sum(one)
        return tff.federated_map(add, (state, tff.federated_sum(total))), count

    return tff.templates.IterativeProcess(initialize, next_fn)
