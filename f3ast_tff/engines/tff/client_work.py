"""A client's data, batches and work in a TFF round; its update carries the server's weight.

If there is a memory, the server also sets each client's start and contribution (`ClientStart`).

A client's data is one element with these entries: `examples` (all examples as stored, the same
tensors every round), `orders` (`int32 [segments, length]`, see `LocalTraining.order`), `draws`
(`int32 [segments, length, num_draws]`, see `Preprocessing.draws`), `weight` (`float32`, the
client's weight in the aggregate) and `start` (the parts of `ClientInit` that a memory uses, each
vector flat). TFF requires client data to be sequences, so it is a sequence of one element.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.core.preprocessing import AsStored, Preprocessing
from f3ast_tff.methods.parts.memory import ClientInit, Memory
from f3ast_tff.methods.parts.memory_rules import NUMBERS, start_of


@dataclass(frozen=True)
class ClientStart:
    """The parts of `ClientInit` that the server sends to clients, and their use there.

    Attributes:
        parts: Names of the parts.
        num_weights: Length of a vector.
        apart: Whether shifts are aggregated separately, for a memory with an `echo_clip`.
    """

    parts: tuple[str, ...] = ()
    num_weights: int = 0
    apart: bool = False

    @classmethod
    def of(cls, memory: Memory | None, num_weights: int) -> ClientStart:
        """Returns the `ClientStart` of a memory; without a memory it has no parts."""
        if memory is None:
            return cls()
        used = start_of(memory)._asdict()
        # A pull needs the model that it pulls to, which is sent with it.
        needed = {"model"} if used["pull"] is not None else set()
        parts = tuple(n for n, value in used.items() if value is not None or n in needed)
        return cls(parts, num_weights, memory.echo_clip is not None)

    @property
    def specs(self) -> OrderedDict[str, tf.TensorSpec]:
        """Specs of the parts."""
        shapes = {name: [] if name in NUMBERS else [self.num_weights] for name in self.parts}
        return OrderedDict((n, tf.TensorSpec(shape, tf.float32)) for n, shape in shapes.items())

    def tensors(self, start: ClientInit) -> OrderedDict[str, tf.Tensor]:
        """Returns the parts for one client."""
        named = start._asdict()
        return OrderedDict((n, tf.constant(named[n], tf.float32)) for n in self.parts)

    @property
    def of_batches(self) -> tuple[str, ...]:
        """Names of the parts that every batch holds too, see `CorrectedModel`."""
        entries = ["offset"] if "offset" in self.parts else []
        return (*entries, "pull", "model") if "pull" in self.parts else (*entries,)

    def model(self, weights: Any, sent: Any) -> Any:
        """Returns the model that a client starts from, in TFF's type; called in a graph."""
        leaves = split(sent["model"], tf.nest.flatten(weights.trainable))
        trainable = tf.nest.pack_sequence_as(weights.trainable, leaves)
        return tff.learning.models.ModelWeights(trainable, weights.non_trainable)

    def contribution(self, update: Any, sent: Any) -> Any:
        """Returns scale * D_k + shift, or both `apart`, with a gradient's sign as in TFF.

        Called in a graph.
        """
        leaves, scale = tf.nest.flatten(update), sent.get("scale")
        shifts: list[Any] = [None] * len(leaves)
        if "shift" in self.parts:
            shifts = [-shift for shift in split(sent["shift"], leaves)]
        apart = self.apart and "shift" in self.parts
        starts = [ClientInit(scale=scale, shift=None if apart else shift) for shift in shifts]
        leaves = [start.sent(leaf) for start, leaf in zip(starts, leaves)]
        contribution = tf.nest.pack_sequence_as(update, leaves)
        if not apart:
            return contribution
        return OrderedDict(echo=contribution, shift=tf.nest.pack_sequence_as(update, shifts))


def split(vector: tf.Tensor, like: Sequence[Any]) -> list[tf.Tensor]:
    """Cuts `[num_weights]` into tensors of the static shapes of `like`."""
    sizes = [int(np.prod(leaf.shape)) for leaf in like]
    return [tf.reshape(part, leaf.shape) for part, leaf in zip(tf.split(vector, sizes), like)]


class CorrectedModel(tff.learning.models.VariableModel):
    """A model with <offset, w> and (pull / 2) |w - model|^2 added to its loss.

    Each gradient so gets `offset` and pull (w - model). Its batches have the further entries
    `ClientStart.of_batches`. It reports the loss of the inner model.
    """

    def __init__(self, inner: tff.learning.models.VariableModel, start: ClientStart) -> None:
        """Takes the inner model, and the further inputs of a client."""
        self._inner = inner
        self._specs = OrderedDict((name, start.specs[name]) for name in start.of_batches)

    @property
    def trainable_variables(self) -> Any:
        """As in `tff.learning.models.VariableModel`, like all below."""
        return self._inner.trainable_variables

    @property
    def non_trainable_variables(self) -> Any:
        """The inner model's."""
        return self._inner.non_trainable_variables

    @property
    def local_variables(self) -> Any:
        """The inner model's."""
        return self._inner.local_variables

    @property
    def input_spec(self) -> Any:
        """The inner model's, and the further entries."""
        return OrderedDict(self._inner.input_spec, **self._specs)

    @tf.function
    def forward_pass(self, batch_input: Any, training: bool = True) -> Any:
        """The inner model's, with another loss."""
        inputs = OrderedDict((name, batch_input[name]) for name in self._inner.input_spec)
        output = self._inner.forward_pass(inputs, training)
        variables = list(self.trainable_variables)
        loss = output.loss
        if "offset" in self._specs:
            offsets = split(batch_input["offset"], variables)
            loss += tf.add_n([tf.reduce_sum(o * v) for o, v in zip(offsets, variables)])
        if "pull" in self._specs:
            starts = split(batch_input["model"], variables)
            squares = [tf.reduce_sum(tf.square(v - s)) for v, s in zip(variables, starts)]
            loss += batch_input["pull"] / 2 * tf.add_n(squares)
        return tff.learning.models.BatchOutput(loss, output.predictions, output.num_examples)

    def predict_on_batch(self, batch_input: Any, training: bool = True) -> Any:
        """The inner model's."""
        return self._inner.predict_on_batch(batch_input, training)

    def report_local_unfinalized_metrics(self) -> Any:
        """The inner model's."""
        return self._inner.report_local_unfinalized_metrics()

    def metric_finalizers(self) -> Any:
        """The inner model's."""
        return self._inner.metric_finalizers()

    def reset_metrics(self) -> None:
        """The inner model's."""
        self._inner.reset_metrics()


@dataclass(frozen=True)
class ClientBatches:
    """Makes a client's training batches from its data.

    Attributes:
        stored_spec: `OrderedDict(x=..., y=...)` of `tf.TensorSpec`s of examples as stored, with
            unknown leading dimension.
        work: Local training, for the batch size and the number of segments.
        preprocessing: Function from stored features to model input.
        start: Further inputs of a client.
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

        A segment ends with a short batch if the batch size does not divide its length. Each batch
        also holds the parts `of_batches` of the start.
        """
        batches = self._segment(element, 0)
        for row in range(1, self.work.num_segments):
            batches = batches.concatenate(self._segment(element, row))
        more = {name: element["start"][name] for name in self.start.of_batches}
        if more:
            batches = batches.map(lambda batch: OrderedDict(batch, **more))
        return self._plain(batches)

    def all_but_last(self, element: Any) -> tf.data.Dataset:
        """Returns the batches of one element without the last."""
        shape = tf.shape(element["orders"])
        in_segment = -(-shape[1] // self.work.batch_size)
        count = tf.maximum(shape[0] * in_segment - 1, 0)
        return self._plain(self.dataset(element).take(tf.cast(count, tf.int64)))

    @staticmethod
    def _plain(batches: tf.data.Dataset) -> tf.data.Dataset:
        options = tf.data.Options()
        # For such a short pipeline, the search for optimisations costs more time than it saves.
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
    """The same as `tff.learning.metrics.sum_then_finalize`, with the loss of each client.

    Returns:
        The computation; its metric `client_losses` is NaN for a client that trained on no example,
        or whose update is not finite (TFF then drops its measurements).
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


def build_weighted_client_work(
    inner: tff.learning.templates.ClientWorkProcess,
    batches: ClientBatches,
    returns_updates: bool = False,
    last_step: bool = False,
) -> tff.learning.templates.ClientWorkProcess:
    """Wraps any client work over batches into client work over a client's data.

    The inner work must weigh clients uniformly: 1, or 0 for an update that is not finite (TFF
    also sets such an update to zero). The wrapped work multiplies this by the client's weight, so
    an update that is not finite is dropped from the round for any weight.

    Args:
        inner: Client work over batches, for example
            `tff.learning.templates.build_model_delta_client_work` with
            `tff.learning.ClientWeighting.UNIFORM`.
        batches: Maker of a client's batches and start.
        returns_updates: Whether each client's update D_k is returned.
        last_step: See `Memory.last_step`. The client then trains a second time, without its last
            batch, because TFF's client work returns only a client's whole movement.

    Returns:
        Client work with the measurements `inner` (of the inner work), `delivered` (1 for each
        client, or 0 if its update was not finite, `float32 [m]`) and, if asked for, `updates`
        (`float32 [m, num_weights]`, zeros for updates that are not finite).
    """
    data_type, start = batches.data_type, batches.start
    sent_type = data_type.element.start
    state_type, weights_type, _ = inner.next.type_signature.parameter
    update_type = inner.next.type_signature.result.result.member.update

    @tff.tensorflow.computation(data_type)
    def unpack(client_data: Any) -> Any:
        element = client_data.get_single_element()
        return batches.dataset(element), element["weight"], element["start"]

    @tff.tensorflow.computation(data_type)
    def all_but_last(client_data: Any) -> Any:
        return batches.all_but_last(client_data.get_single_element())

    @tff.tensorflow.computation(update_type, update_type)
    def subtract(whole: Any, earlier: Any) -> Any:
        return tf.nest.map_structure(tf.subtract, whole, earlier)

    @tff.tensorflow.computation(update_type)
    def flatten(update: Any) -> Any:
        # TFF's update has a gradient's sign: the model before training minus the model after it.
        return -tf.concat([tf.reshape(leaf, [-1]) for leaf in tf.nest.flatten(update)], axis=0)

    @tff.tensorflow.computation(np.float32, np.float32)
    def multiply(finite: Any, weight: Any) -> Any:
        return finite * weight

    @tff.federated_computation(state_type, weights_type, tff.FederatedType(data_type, tff.CLIENTS))
    def next_fn(state: Any, weights: Any, client_data: Any) -> Any:
        training_data, weight, sent = tff.federated_map(unpack, client_data)
        if "model" in start.parts:
            begin = tff.tensorflow.computation(start.model, [weights_type.member, sent_type])
            weights = tff.federated_map(begin, (weights, sent))
        output = inner.next(state, weights, training_data)
        update, finite = output.result.update, output.result.update_weight
        if last_step:
            earlier = inner.next(state, weights, tff.federated_map(all_but_last, client_data))
            update = tff.federated_map(subtract, (update, earlier.result.update))
        weight = tff.federated_map(multiply, (finite, weight))
        columns = OrderedDict(inner=output.measurements, delivered=collect(finite))
        if returns_updates:
            columns["updates"] = collect(tff.federated_map(flatten, update))
        if {"scale", "shift"} & {*start.parts}:
            contribute = tff.tensorflow.computation(start.contribution, [update_type, sent_type])
            update = tff.federated_map(contribute, (update, sent))
        result = tff.federated_zip(tff.learning.templates.ClientResult(update, weight))
        measurements = tff.federated_zip(columns)
        return tff.templates.MeasuredProcessOutput(output.state, result, measurements)

    return tff.learning.templates.ClientWorkProcess(
        inner.initialize,
        next_fn,
        get_hparams_fn=inner.get_hparams,
        set_hparams_fn=inner.set_hparams,
    )
