"""Parts of a TFF round: the process as a value, clients' datasets, the loss, a worker's trainer."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from f3ast_tff.core.federated_data import ClientExamples
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.core.preprocessing import AsStored, Preprocessing
from f3ast_tff.core.values import is_value
from f3ast_tff.engines.distributed.workers import TrainedPart
from f3ast_tff.engines.engine import ClientScores, EngineParts, ExampleScores
from f3ast_tff.engines.tff.client_work import ClientBatches, ClientStart, client_dataset
from f3ast_tff.engines.tff.learning_process import RulesInTff, build_process
from f3ast_tff.engines.tff.runtime import InProcessRuntime
from f3ast_tff.methods.parts.memory import ClientInit
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.models import Model
from f3ast_tff.optimizers import Optimizer


class ClientFeed:
    """Makes the datasets of a cohort.

    A client's examples become tensors when it is first selected. Each round adds the order of its
    batches, their random draws, and its weight.
    """

    def __init__(
        self,
        examples: ClientExamples,
        work: LocalTraining,
        preprocessing: Preprocessing,
        start: ClientStart | None = None,
    ) -> None:
        """Takes the training data of all clients or of a shard, and their further inputs."""
        self._start = start or ClientStart()
        self._data = examples
        self._work = work
        self._preprocessing = preprocessing
        self._examples: dict[int, Any] = {}

    def datasets(
        self, round_number: int, cohort: Cohort, starts: Sequence[ClientInit] | None = None
    ) -> list[tf.data.Dataset]:
        """Returns the data of each client, in the order of the cohort.

        If there is a memory of clients, `starts` holds the start of each client.
        """
        starts = [ClientInit()] * len(cohort) if starts is None else starts
        return [
            self._client(round_number, k=int(k), weight=float(weight), start=start)
            for k, weight, start in zip(cohort.ids, cohort.weights, starts)
        ]

    def _client(
        self, round_number: int, k: int, weight: float, start: ClientInit
    ) -> tf.data.Dataset:
        if k not in self._examples:
            x, y = self._data.client(k)
            # Data of all clients would fill a GPU's memory.
            with tf.device("/CPU:0"):
                self._examples[k] = OrderedDict(x=tf.constant(x), y=tf.constant(y))
        size = int(self._data.sizes[k])
        order = self._work.order(round_number, k, size)
        draws = self._preprocessing.draws(round_number, k, order.shape)
        with tf.device("/CPU:0"):
            sent = self._start.tensors(start)
            return client_dataset(
                self._examples[k],
                orders=tf.constant(order),
                draws=tf.constant(draws),
                weight=weight,
                start=sent,
            )


def stored_spec(examples: ClientExamples) -> Any:
    """Returns the `tf.TensorSpec`s of stored examples."""
    x, y = examples.features, examples.labels
    return OrderedDict(
        x=tf.TensorSpec([None, *x.shape[1:]], tf.as_dtype(x.dtype)),
        y=tf.TensorSpec([None, *y.shape[1:]], tf.as_dtype(y.dtype)),
    )


def batch_spec(examples: ClientExamples) -> Any:
    """Returns the `tf.TensorSpec`s of a batch of features and labels as stored."""
    return _batch_spec(stored_spec(examples), AsStored())


def _batch_spec(stored: Any, preprocessing: Preprocessing) -> Any:
    example = tf.zeros([1, *stored["x"].shape[1:]], stored["x"].dtype)
    read = preprocessing.in_tf(example, None)
    return OrderedDict(x=tf.TensorSpec([None, *read.shape[1:]], read.dtype), y=stored["y"])


def rules_of(parts: EngineParts) -> RulesInTff:
    """Returns what a process holds of the aggregation of an engine."""
    num_weights = sum(weight.size for weight in parts.model.initial_weights(0))
    return RulesInTff.of(parts.aggregation, num_weights)


def process_of(
    parts: EngineParts, rules: RulesInTff, examples: ClientExamples
) -> tff.learning.templates.LearningProcess:
    """Returns the learning process of an engine for clients with examples like `examples`.

    A process takes seconds to build. An unchanged composition of values reuses the last process,
    for example of a run with another seed. Neither aggregation nor data of `parts` are used.
    """
    # The process does not depend on the order of examples.
    model, work = parts.model, replace(parts.work, seed=0)
    client, server = parts.client_optimizer, parts.server_optimizer
    buffers = parts.buffer_leaves
    composition = (model, parts.preprocessing, work, client, server, rules, buffers)
    build: Callable[..., Any] = latest_process if all(map(is_value, composition)) else _build
    stored = stored_spec(examples)
    return build(*composition, features=stored["x"], labels=stored["y"])


def _build(
    model: Model,
    preprocessing: Preprocessing,
    work: LocalTraining,
    client_optimizer: Optimizer,
    server_optimizer: Optimizer,
    rules: RulesInTff,
    buffers: tuple[int, ...],
    features: tf.TensorSpec,
    labels: tf.TensorSpec,
) -> tff.learning.templates.LearningProcess:
    stored = OrderedDict(x=features, y=labels)

    def model_fn() -> tff.learning.models.VariableModel:
        return tff.learning.models.from_keras_model(
            model.keras_model(),
            loss=MeanCrossEntropy(),
            input_spec=_batch_spec(stored, preprocessing),
            metrics=[],
        )

    batches = ClientBatches(stored, work, preprocessing, rules.start)
    return build_process(model_fn, batches, client_optimizer, server_optimizer, rules, buffers)


latest_process = lru_cache(maxsize=1)(_build)


class TffTrainer:
    """A `distributed.workers.Trainer` whose sums are the accumulator of the process."""

    def __init__(self, examples: ClientExamples, parts: EngineParts, device: str) -> None:
        """Builds the process and imports its parts.

        Args:
            examples: The shard.
            parts: Parts of the engine; their data are not used.
            device: See `InProcessRuntime`.
        """
        process = process_of(parts, rules_of(parts), examples)
        self._runtime = InProcessRuntime(process, device)
        self._feed = ClientFeed(examples, parts.work, parts.preprocessing)

    def train(
        self,
        broadcast: Sequence[np.ndarray],
        round_number: int,
        cohort: Cohort,
        by_client: bool = False,
    ) -> TrainedPart:
        """`broadcast` is from `InProcessRuntime.prepare`."""
        feed = self._feed.datasets(round_number, cohort)
        return TrainedPart(cohort.ids, self._runtime.accumulate(broadcast, feed))


def label_losses(logits: Any, labels: Any) -> tuple[Any, Any]:
    """Returns the loss of each label (0 if it does not count) and whether it counts.

    Args:
        logits: `float32 [n, ..., classes]`.
        labels: Integers `[n, ...]`; negative labels do not count.

    Returns:
        Both `float32 [n, ...]`.
    """
    labels = tf.cast(labels, tf.int32)
    counts = tf.cast(labels >= 0, tf.float32)
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.maximum(labels, 0), logits)
    # A select, because a product 0 * NaN would be NaN.
    return tf.where(labels >= 0, loss, 0.0), counts


class MeanCrossEntropy(tf.keras.losses.Loss):
    """Mean loss over a batch's labels that count."""

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Returns the mean, a scalar; there are no sample weights in TFF."""
        loss, counts = label_losses(y_pred, y_true)
        return tf.reduce_sum(loss) / tf.maximum(tf.reduce_sum(counts), 1.0)


class KerasScorer:
    """Scores examples under given weights; one compiled function for all sizes."""

    def __init__(self, model: Model, preprocessing: Preprocessing, data: ClientExamples) -> None:
        """Takes the model, its preprocessing, and data of the form to score."""
        self._model = model.keras_model()
        self._preprocessing = preprocessing
        self._chunk = model.examples_at_once
        signature = [
            tf.TensorSpec([None, *column.shape[1:]], tf.as_dtype(column.dtype))
            for column in (data.features, data.labels)
        ]
        self._score = tf.function(self._score_chunk, input_signature=signature)

    def _score_chunk(self, features: Any, labels: Any) -> Any:
        logits = self._model(self._preprocessing.in_tf(features, None), training=False)
        loss, counts = label_losses(logits, labels)
        predicted = tf.argmax(logits, axis=-1, output_type=tf.int32)
        right = tf.cast(tf.equal(predicted, tf.cast(labels, tf.int32)), tf.float32)
        rest = list(range(1, len(labels.shape)))
        return tf.stack([tf.reduce_sum(column, rest) for column in (loss, right, counts)])

    def examples(
        self, weights: list[np.ndarray], features: np.ndarray, labels: np.ndarray
    ) -> ExampleScores:
        """Scores examples `[n, ...]`, as stored."""
        self._model.set_weights(weights)
        cuts = [slice(i, i + self._chunk) for i in range(0, max(len(labels), 1), self._chunk)]
        parts = [np.asarray(self._score(features[cut], labels[cut])) for cut in cuts]
        loss, correct, count = np.concatenate(parts, axis=1).astype(np.float64)
        return ExampleScores(loss, correct, count)

    def clients(self, weights: list[np.ndarray], data: ClientExamples) -> ClientScores:
        """Scores all clients of a split."""
        scores = self.examples(weights, data.features, data.labels)
        return ClientScores.of_examples(scores, data.sizes)
