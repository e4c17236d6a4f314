"""What crosses to a client in a TFF round, and the batches that the client makes of it.

One element holds it all: `examples` (the client's whole data as stored, the same tensors every
round), `orders` (`int32 [segments, length]`, see `LocalTraining.order`), `draws` (`int32
[segments, length, num_draws]`, see `Preprocessing.draws`), `weight` (`float32`, its weight in the
aggregate) and `start` (see `client_start`).
TFF wants client data to be sequences, hence a sequence of one element.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from f3ast_tff.engines.tff.processes.client_start import ClientStart
from f3ast_tff.local_training import LocalTraining
from f3ast_tff.preprocessing import AsStored, Preprocessing


@dataclass(frozen=True)
class ClientBatches:
    """From a client's data to the batches that it trains on.

    Attributes:
        stored_spec: `OrderedDict(x=..., y=...)` of `tf.TensorSpec`s of examples as stored,
            leading dimension unknown.
        work: Says the batch size and the number of segments.
        preprocessing: From stored features to what the model reads.
        start: What else crosses to a client.
    """

    stored_spec: Any
    work: LocalTraining
    preprocessing: Preprocessing = AsStored()
    start: ClientStart = ClientStart()

    @property
    def data_type(self) -> tff.SequenceType:
        """The TFF type of one client's data."""
        element = OrderedDict(
            examples=self.stored_spec,
            orders=tf.TensorSpec([None, None], tf.int32),
            draws=tf.TensorSpec([None, None, self.preprocessing.num_draws], tf.int32),
            weight=tf.TensorSpec([], tf.float32),
            start=self.start.specs,
        )
        return tff.SequenceType(tff.types.tensorflow_to_type(element))

    def dataset(self, element: Any) -> tf.data.Dataset:
        """Returns the batches of one element, in order.

        Each segment ends with a short batch where the batch size does not divide it. Where there
        is an offset, each batch holds it too.
        """
        batches = self._segment(element, 0)
        for row in range(1, self.work.num_segments):
            batches = batches.concatenate(self._segment(element, row))
        if "offset" in self.start.parts:
            offset = element["start"]["offset"]
            batches = batches.map(lambda batch: OrderedDict(batch, offset=offset))
        options = tf.data.Options()
        # For so short a pipeline, looking for improvements takes longer than they save.
        options.experimental_optimization.apply_default_optimizations = False
        options.autotune.enabled = False
        return batches.with_options(options)

    def _segment(self, element: Any, row: int) -> tf.data.Dataset:
        order = element["orders"][row]
        visits = tf.nest.map_structure(lambda c: tf.gather(c, order), element["examples"])
        visits["x"] = self.preprocessing.in_tf(visits["x"], element["draws"][row])
        size, length = self.work.batch_size, tf.shape(order)[0]
        whole = length - length % size

        def cut(column: tf.Tensor) -> tf.Tensor:
            shape = tf.concat([[-1, size], tf.shape(column)[1:]], axis=0)
            return tf.ensure_shape(
                tf.reshape(column[:whole], shape), [None, size, *column.shape[1:]]
            )

        full = tf.data.Dataset.from_tensor_slices(tf.nest.map_structure(cut, visits))
        rest = tf.data.Dataset.from_tensors(tf.nest.map_structure(lambda c: c[whole:], visits))
        return full.concatenate(rest.take(tf.cast(whole < length, tf.int64)))


def client_dataset(
    examples: Any, orders: Any, draws: Any, weight: float, start: Any
) -> tf.data.Dataset:
    """Returns one client's data for one round, see the module's docstring.

    Built without a `map`, whose traced function would outlive the round.
    """
    element = OrderedDict(
        examples=examples,
        orders=orders,
        draws=draws,
        weight=tf.constant(weight, tf.float32),
        start=start,
    )
    return tf.data.Dataset.from_tensors(element)
