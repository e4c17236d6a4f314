"""How a client enters a round by the rules of a memory, as parts of TFF's client work.

What `ClientInit` uses crosses to the client beside its data, each vector flat: `model`, `offset`,
`scale` and `shift`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from f3ast_tff.methods.parts.memory import ClientInit, Memory, use_of_start


@dataclass(frozen=True)
class ClientStart:
    """Which parts of `ClientInit` cross to clients, and how they are used there.

    Attributes:
        parts: Names of the parts.
        num_weights: Numbers in a vector.
        apart: Whether shifts are aggregated by themselves, for a memory with an `echo_clip`.
    """

    parts: tuple[str, ...] = ()
    num_weights: int = 0
    apart: bool = False

    @classmethod
    def of(cls, memory: Memory | None, num_weights: int) -> ClientStart:
        """Returns that of a memory; without one nothing crosses."""
        if memory is None:
            return cls()
        used = use_of_start(memory)._asdict()
        parts = tuple(n for n, value in used.items() if value is not None)
        return cls(parts, num_weights, memory.echo_clip is not None)

    @property
    def specs(self) -> OrderedDict[str, tf.TensorSpec]:
        """Of what crosses."""
        shapes = {name: [] if name == "scale" else [self.num_weights] for name in self.parts}
        return OrderedDict((n, tf.TensorSpec(shape, tf.float32)) for n, shape in shapes.items())

    def tensors(self, start: ClientInit) -> OrderedDict[str, tf.Tensor]:
        """Returns what crosses to one client."""
        named = start._asdict()
        return OrderedDict((n, tf.constant(named[n], tf.float32)) for n in self.parts)

    def model(self, weights: Any, sent: Any) -> Any:
        """Returns the model that a client starts from, of TFF's own type; in a graph."""
        leaves = split(sent["model"], tf.nest.flatten(weights.trainable))
        trainable = tf.nest.pack_sequence_as(weights.trainable, leaves)
        return tff.learning.models.ModelWeights(trainable, weights.non_trainable)

    def contribution(self, update: Any, sent: Any) -> Any:
        """Returns scale * D_k + shift, or both `apart`, in TFF's sign, a gradient's; in a graph."""
        leaves = tf.nest.flatten(update)
        if "scale" in self.parts:
            leaves = [leaf * sent["scale"] for leaf in leaves]
        if "shift" not in self.parts:
            return tf.nest.pack_sequence_as(update, leaves)
        shifts = split(sent["shift"], leaves)
        if self.apart:
            negative = tf.nest.pack_sequence_as(update, [-shift for shift in shifts])
            return OrderedDict(echo=tf.nest.pack_sequence_as(update, leaves), shift=negative)
        leaves = [leaf - shift for leaf, shift in zip(leaves, shifts)]
        return tf.nest.pack_sequence_as(update, leaves)


def split(vector: tf.Tensor, like: Sequence[Any]) -> list[tf.Tensor]:
    """Cuts `[num_weights]` into tensors of the shapes of `like`, which are known."""
    sizes = [int(np.prod(leaf.shape)) for leaf in like]
    return [tf.reshape(part, leaf.shape) for part, leaf in zip(tf.split(vector, sizes), like)]


class CorrectedModel(tff.learning.models.VariableModel):
    """A model with <offset, w> added to its loss, and so `offset` to each gradient.

    Its batches have a further entry `offset`, `float32 [num_weights]`. The loss that it reports is
    that of the inner model.
    """

    def __init__(self, inner: tff.learning.models.VariableModel, num_weights: int) -> None:
        """Takes the model."""
        self._inner = inner
        self._num_weights = num_weights

    @property
    def trainable_variables(self) -> Any:
        """See `tff.learning.models.VariableModel`, as for all below."""
        return self._inner.trainable_variables

    @property
    def non_trainable_variables(self) -> Any:
        """Those of the inner model."""
        return self._inner.non_trainable_variables

    @property
    def local_variables(self) -> Any:
        """Those of the inner model."""
        return self._inner.local_variables

    @property
    def input_spec(self) -> Any:
        """That of the inner model, and the offset."""
        offset = tf.TensorSpec([self._num_weights], tf.float32)
        return OrderedDict(self._inner.input_spec, offset=offset)

    @tf.function
    def forward_pass(self, batch_input: Any, training: bool = True) -> Any:
        """The inner model's, the loss changed."""
        inputs = OrderedDict((name, batch_input[name]) for name in self._inner.input_spec)
        output = self._inner.forward_pass(inputs, training)
        variables = list(self.trainable_variables)
        offsets = split(batch_input["offset"], variables)
        linear = tf.add_n([tf.reduce_sum(o * v) for o, v in zip(offsets, variables)])
        return tff.learning.models.BatchOutput(
            output.loss + linear, output.predictions, output.num_examples
        )

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
