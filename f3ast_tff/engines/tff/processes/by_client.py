"""Numbers of each client that come back one by one, in the order of the cohort."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


def collect(value: Any) -> Any:
    """Returns `float32 [m, ...]@SERVER` of `float32 [...]@CLIENTS`; in a federated computation."""
    one_type = value.type_signature.member
    shape = list(one_type.shape)
    list_type = tff.TensorType(np.float32, [None, *shape])

    @tff.tensorflow.computation
    def zero() -> Any:
        return tf.zeros([0, *shape])

    @tff.tensorflow.computation(list_type, one_type)
    def accumulate(so_far: Any, one: Any) -> Any:
        return tf.concat([so_far, one[None]], axis=0)

    @tff.tensorflow.computation(list_type, list_type)
    def merge(one: Any, other: Any) -> Any:
        return tf.concat([one, other], axis=0)

    @tff.tensorflow.computation(list_type)
    def report(so_far: Any) -> Any:
        return so_far

    return tff.federated_aggregate(value, zero(), accumulate, merge, report)


def sum_and_collect(finalizers: Any) -> tff.Computation:
    """As `tff.learning.metrics.sum_then_finalize`, with the loss of each client.

    Returns:
        The computation; its metric `client_losses` is NaN for a client that trained on nothing, or
        whose update is not finite (TFF then forgets what it measured).
    """
    sums = tff.learning.metrics.sum_then_finalize(finalizers)

    @tff.federated_computation
    def aggregate(metrics: Any) -> Any:
        @tff.tensorflow.computation(metrics.type_signature.member)
        def mean_loss(of_client: Any) -> Any:
            total, count = of_client["loss"]
            return total / count

        summed = sums(metrics)
        names = summed.type_signature.member._asdict()
        losses = collect(tff.federated_map(mean_loss, metrics))
        columns = OrderedDict((name, getattr(summed, name)) for name in names)
        return tff.federated_zip(OrderedDict(**columns, client_losses=losses))

    return aggregate
