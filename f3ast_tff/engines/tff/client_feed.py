"""What a TFF round is fed with: one dataset a client."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from f3ast_tff.engines.tff.processes.client_data import client_dataset
from f3ast_tff.engines.tff.processes.client_start import ClientStart
from f3ast_tff.federated_data import ClientExamples
from f3ast_tff.local_training import LocalTraining
from f3ast_tff.methods.parts.memory import ClientInit
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.preprocessing import AsStored, Preprocessing


class ClientFeed:
    """Makes the datasets of a cohort.

    A client's examples become tensors once, when it is first selected; a round adds the order
    of its batches, what is drawn for them, and its weight.
    """

    def __init__(
        self,
        examples: ClientExamples,
        work: LocalTraining,
        preprocessing: Preprocessing,
        start: ClientStart | None = None,
    ) -> None:
        """Takes the training data, of all clients or of a shard, and what else crosses."""
        self._start = start or ClientStart()
        self._data = examples
        self._work = work
        self._preprocessing = preprocessing
        self._examples: dict[int, Any] = {}

    def datasets(
        self, round_number: int, cohort: Cohort, starts: Sequence[ClientInit] | None = None
    ) -> list[tf.data.Dataset]:
        """Returns the data of each client of a cohort, in its order.

        Args:
            round_number: Round t.
            cohort: Clients and weights.
            starts: How each enters the round, with a memory of clients.
        """
        starts = [ClientInit()] * len(cohort) if starts is None else starts
        return [
            self._client(round_number, int(k), float(weight), start)
            for k, weight, start in zip(cohort.ids, cohort.weights, starts)
        ]

    def _client(
        self, round_number: int, k: int, weight: float, start: ClientInit
    ) -> tf.data.Dataset:
        if k not in self._examples:
            x, y = self._data.client(k)
            # Not on a GPU, whose memory all clients' data would fill.
            with tf.device("/CPU:0"):
                self._examples[k] = OrderedDict(x=tf.constant(x), y=tf.constant(y))
        size = int(self._data.sizes[k])
        order = self._work.order(round_number, k, size)
        draws = self._preprocessing.draws(round_number, k, order.shape)
        with tf.device("/CPU:0"):
            sent = self._start.tensors(start)
            drawn = (tf.constant(order), tf.constant(draws))
            return client_dataset(self._examples[k], *drawn, weight, sent)


def stored_spec(examples: ClientExamples) -> Any:
    """Returns the `tf.TensorSpec`s of examples as they are stored."""
    x, y = examples.features, examples.labels
    return OrderedDict(
        x=tf.TensorSpec([None, *x.shape[1:]], tf.as_dtype(x.dtype)),
        y=tf.TensorSpec([None, *y.shape[1:]], tf.as_dtype(y.dtype)),
    )


def batch_spec(examples: ClientExamples, preprocessing: Preprocessing | None = None) -> Any:
    """Returns the `tf.TensorSpec`s of a batch of what the model reads, and its labels."""
    stored = stored_spec(examples)
    example = tf.zeros([1, *stored["x"].shape[1:]], stored["x"].dtype)
    read = (preprocessing or AsStored()).in_tf(example, None)
    return OrderedDict(x=tf.TensorSpec([None, *read.shape[1:]], read.dtype), y=stored["y"])
