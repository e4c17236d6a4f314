"""The reference engine: rounds are executed by TensorFlow Federated's native runtime."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from f3ast_tff.engines.client_loss import reduce_losses, scored_rows
from f3ast_tff.engines.engine import (
    EMPTY_ROUND,
    ClientScores,
    RoundOutcome,
    refuse_foreign_state,
)
from f3ast_tff.engines.latest_round import Trained, flat, leaves_of, run_latest_round
from f3ast_tff.engines.latest_updates import LatestUpdates
from f3ast_tff.engines.tff_context import start_worker
from f3ast_tff.engines.tff_cross_entropy import MeanCrossEntropy
from f3ast_tff.engines.tff_scorer import KerasScorer
from f3ast_tff.federated_data import FederatedData
from f3ast_tff.inputs import AsStored, Inputs
from f3ast_tff.local_work import LocalWork
from f3ast_tff.models import Model
from f3ast_tff.optimizer import Optimizer
from f3ast_tff.process_memory import peak_memory_mib
from f3ast_tff.processes.client_data import ClientBatches, client_dataset
from f3ast_tff.processes.learning_process import build_parts
from f3ast_tff.processes.round_with_updates import build_round_with_updates
from f3ast_tff.selection import Cohort


class TffEngine:
    """Executes rounds on TFF's worker, and evaluates in this process.

    A client's examples become tensors once, when it is first selected; a round adds the order
    of its batches and its weight.
    """

    block_rounds = 1

    def __init__(
        self,
        data: FederatedData,
        model: Model,
        work: LocalWork,
        client_optimizer: Optimizer,
        server_optimizer: Optimizer,
        aggregation: str,
        *,
        seed: int,
        worker_log: Path,
        inputs: Inputs | None = None,
        clients_at_once: int = -1,
        client_loss: str = "mean",
        latest: LatestUpdates | None = None,
    ) -> None:
        """Builds the learning process and starts the worker.

        Args:
            data: Of all clients.
            model: The network; its initial weights come from `seed`.
            work: Local work of a client.
            client_optimizer: Of the local steps.
            server_optimizer: Of the step along the aggregate.
            aggregation: `"sum"`, `"mean"` or `"latest"`, see `build_parts`.
            seed: Of the initial weights.
            worker_log: File for the worker's output.
            inputs: From features to what the model reads; by default the features.
            clients_at_once: Most clients that train at the same time, which bounds memory; -1
                for no limit.
            client_loss: See `client_loss.reduce_losses`.
            latest: FedLaAvg's memory, for the aggregation `"latest"`.
        """
        self._data = data
        self._work = work
        self._inputs = inputs = inputs or AsStored()
        self._client_loss = client_loss
        self._client_optimizer = client_optimizer
        self._latest = latest
        self._examples: dict[int, Any] = {}

        def model_fn() -> tff.learning.models.VariableModel:
            return tff.learning.models.from_keras_model(
                model.keras_model(),
                loss=MeanCrossEntropy(),
                input_spec=batch_spec(data, inputs),
                metrics=[],
            )

        self._worker, self._context = start_worker(worker_log, clients_at_once)
        try:
            parts = build_parts(
                model_fn,
                ClientBatches(stored_spec(data), work, inputs),
                client_optimizer,
                server_optimizer,
                aggregation,
            )
            self._process = parts.compose()
            if latest is not None:
                self._next_with_updates = build_round_with_updates(parts)
            self._scorer = KerasScorer(model, inputs, data.train)
            initial = tff.learning.models.ModelWeights(model.initial_weights(seed), [])
            with self._on_our_worker():
                state = self._process.initialize()
                self._state = self._process.set_model_weights(state, initial)
        except BaseException:
            self._worker.close()
            raise

    def run_rounds(self, first_round: int, cohorts: Sequence[Cohort]) -> list[RoundOutcome]:
        """See `Engine.run_rounds`.

        Raises:
            EngineError: If the worker has died; the model is that of the last completed round.
        """
        return [
            self._run_round(t, cohort) if len(cohort) else EMPTY_ROUND
            for t, cohort in enumerate(cohorts, start=first_round)
        ]

    def _run_round(self, round_number: int, cohort: Cohort) -> RoundOutcome:
        if self._latest is not None:
            return self._latest_round(self._latest, round_number, cohort)
        with self._on_our_worker():
            output = self._process.next(
                self._state_at(round_number), self._feed(round_number, cohort)
            )
        outcome = _outcome(output.metrics, len(cohort))
        # Rejected: keep the server optimizer's state too, a step along nothing would move Adam.
        if not outcome.rejected:
            self._state = output.state
        return outcome

    def _latest_round(
        self, latest: LatestUpdates, round_number: int, cohort: Cohort
    ) -> RoundOutcome:
        def train(these: Cohort, correction: np.ndarray) -> Trained:
            aggregator = self._state.aggregator
            parts = leaves_of(correction, tf.nest.flatten(aggregator))
            start = self._state_at(round_number)._replace(
                aggregator=tf.nest.pack_sequence_as(aggregator, parts)
            )
            with self._on_our_worker():
                output, clients = self._next_with_updates(start, self._feed(round_number, these))
            rows = [
                flat([np.asarray(leaf)[None] for leaf in tf.nest.flatten(client.update)])
                for client in clients
            ]
            updates = np.concatenate(rows)
            # TFF makes zeros of an update that is not finite, and marks it by its weight.
            dropped = np.array([float(client.update_weight) == 0 for client in clients])
            updates[dropped & (these.weights != 0)] = np.nan
            return Trained(output.state, _outcome(output.metrics, len(these)), updates)

        rate = self._client_optimizer.rate(round_number)
        state, outcome = run_latest_round(latest, round_number, cohort, rate, train)
        if state is not None:
            self._state = state
        return outcome

    def _state_at(self, round_number: int) -> Any:
        """The state with the client learning rate of a round."""
        if self._client_optimizer.decay == 1:
            return self._state
        rate = np.float32(self._client_optimizer.rate(round_number))
        hparams = OrderedDict(self._state.client_work, learning_rate=rate)
        return self._state._replace(client_work=hparams)

    def _feed(self, round_number: int, cohort: Cohort) -> list[tf.data.Dataset]:
        return [
            self._client(round_number, int(k), float(weight))
            for k, weight in zip(cohort.ids, cohort.weights)
        ]

    def evaluate(self) -> ClientScores:
        """See `Engine.evaluate`."""
        return self._scorer.clients(self.weights(), self._data.test)

    def client_losses(self, ids: np.ndarray, round_number: int = 1) -> np.ndarray:
        """See `Engine.client_losses`."""
        train = self._data.train
        rows = scored_rows(ids, train.offsets, self._work, self._client_loss, round_number)
        these = np.concatenate(rows)
        scores = self._scorer.examples(self.weights(), train.features[these], train.labels[these])
        sizes = np.array([len(of_client) for of_client in rows])
        return reduce_losses(scores, sizes, self._client_loss, self._work.batch_size)

    def statistics(self) -> dict[str, Any]:
        """See `Engine.statistics`: the worker's memory, which this process's leaves out."""
        return {"engine": "tff", "worker_peak_memory_mib": peak_memory_mib(self._worker.pid)}

    def weights(self) -> list[np.ndarray]:
        """See `Engine.weights`."""
        trainable = self._state.global_model_weights.trainable
        return [np.asarray(weight) for weight in trainable]

    def state(self) -> dict[str, np.ndarray]:
        """See `Engine.state`: the leaves of TFF's `LearningAlgorithmState`."""
        leaves = tf.nest.flatten(self._state)
        state = {f"{i:04d}": np.asarray(leaf) for i, leaf in enumerate(leaves)}
        return {**state, **(self._latest.state() if self._latest is not None else {})}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """See `Engine.restore`."""
        refuse_foreign_state(state, self.state())
        if self._latest is not None:
            self._latest.restore(state)
        leaves = [state[name] for name in sorted(state) if name.isdigit()]
        self._state = tf.nest.pack_sequence_as(self._state, leaves)

    def close(self) -> None:
        """Ends the worker."""
        self._worker.close()

    def _on_our_worker(self) -> Any:
        # Outside, TFF would start a worker of its own, which outlives this process.
        return tff.framework.get_context_stack().install(self._context)

    def _client(self, round_number: int, k: int, weight: float) -> tf.data.Dataset:
        if k not in self._examples:
            x, y = self._data.train.client(k)
            self._examples[k] = OrderedDict(x=tf.constant(x), y=tf.constant(y))
        size = int(self._data.train.sizes[k])
        order = self._work.order(round_number, k, size)
        draws = self._inputs.draws(round_number, k, order.shape)
        return client_dataset(self._examples[k], tf.constant(order), tf.constant(draws), weight)


def _outcome(metrics: Any, num_clients: int) -> RoundOutcome:
    work = metrics["client_work"]
    dropped = int(work["num_dropped"])
    if dropped == num_clients or bool(metrics["finalizer"]["update_non_finite"]):
        return RoundOutcome(float("nan"), 0.0, dropped, True)
    return RoundOutcome(
        train_loss=float(work["inner"]["train"]["loss"]),
        update_norm=float(metrics["aggregator"]["update_norm"]),
        num_dropped=dropped,
    )


def stored_spec(data: FederatedData) -> Any:
    """Returns the `tf.TensorSpec`s of training examples as they are stored."""
    x, y = data.train.features, data.train.labels
    return OrderedDict(
        x=tf.TensorSpec([None, *x.shape[1:]], tf.as_dtype(x.dtype)),
        y=tf.TensorSpec([None, *y.shape[1:]], tf.as_dtype(y.dtype)),
    )


def batch_spec(data: FederatedData, inputs: Inputs | None = None) -> Any:
    """Returns the `tf.TensorSpec`s of a batch of what the model reads, and its labels."""
    stored = stored_spec(data)
    example = tf.zeros([1, *stored["x"].shape[1:]], stored["x"].dtype)
    read = (inputs or AsStored()).in_tf(example, None)
    return OrderedDict(x=tf.TensorSpec([None, *read.shape[1:]], read.dtype), y=stored["y"])
