"""What crosses to a client in a TFF round: its examples, their order and its weight.

One element holds it all: `examples` (the client's whole data, the same tensors every round),
`orders` (`int32 [segments, length]`, see `LocalWork.order`) and `weight` (`float32`, its weight in
the aggregate). TFF wants client data to be sequences, hence a sequence of one element.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from f3ast_tff.local_work import LocalWork


def client_data_type(batch_spec: Any) -> tff.SequenceType:
    """Returns the TFF type of one client's data, given the `tf.TensorSpec`s of a batch."""
    element = OrderedDict(
        examples=batch_spec,
        orders=tf.TensorSpec([None, None], tf.int32),
        weight=tf.TensorSpec([], tf.float32),
    )
    return tff.SequenceType(tff.types.tensorflow_to_type(element))


def client_dataset(examples: Any, orders: Any, weight: float) -> tf.data.Dataset:
    """Returns one client's data for one round, see the module's docstring.

    Built without a `map`, whose traced function would outlive the round.
    """
    element = OrderedDict(examples=examples, orders=orders, weight=tf.constant(weight, tf.float32))
    return tf.data.Dataset.from_tensors(element)


def training_batches(element: Any, work: LocalWork, batch_spec: Any) -> tf.data.Dataset:
    """Returns the batches that a client trains on, in order.

    Args:
        element: The one element of the client's data.
        work: Says the batch size and the number of segments.
        batch_spec: `tf.TensorSpec`s of a batch, leading dimension unknown.

    Returns:
        A dataset of batches; each segment ends with a short batch where it does not divide.
    """

    def segment(order: tf.Tensor) -> tf.data.Dataset:
        ordered = tf.nest.map_structure(
            lambda column: tf.gather(column, order), element["examples"]
        )
        length = tf.shape(order)[0]
        whole = length - length % work.batch_size

        def cut(column: tf.Tensor, spec: tf.TensorSpec) -> tf.Tensor:
            shape = tf.concat([[-1, work.batch_size], tf.shape(column)[1:]], axis=0)
            batched = tf.reshape(column[:whole], shape)
            return tf.ensure_shape(batched, [None, work.batch_size, *spec.shape[1:]])

        full = tf.data.Dataset.from_tensor_slices(tf.nest.map_structure(cut, ordered, batch_spec))
        rest = tf.data.Dataset.from_tensors(tf.nest.map_structure(lambda c: c[whole:], ordered))
        return full.concatenate(rest.take(tf.cast(whole < length, tf.int64)))

    batches = segment(element["orders"][0])
    for row in range(1, work.num_segments):
        batches = batches.concatenate(segment(element["orders"][row]))
    return batches
