"""The reference engine: rounds are those of a TensorFlow Federated learning process."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from f3ast_tff.aggregation.update_memory import LatestUpdates
from f3ast_tff.engines.client_loss import reduce_losses, scored_rows
from f3ast_tff.engines.distributed.workers import Workers
from f3ast_tff.engines.engine import (
    EMPTY_ROUND,
    ClientScores,
    RoundOutcome,
    refuse_foreign_state,
)
from f3ast_tff.engines.memory_round import Trained, flat, leaves_of, run_latest_round
from f3ast_tff.engines.tff.client_feed import ClientFeed
from f3ast_tff.engines.tff.composition import TffComposition
from f3ast_tff.engines.tff.device import find_device
from f3ast_tff.engines.tff.in_process import InProcessRuntime
from f3ast_tff.engines.tff.processes.round_with_updates import build_round_with_updates
from f3ast_tff.engines.tff.scorer import KerasScorer
from f3ast_tff.engines.tff.worker_runtime import WorkerRuntime
from f3ast_tff.errors import EngineError
from f3ast_tff.federated_data import FederatedData
from f3ast_tff.local_training import LocalWork
from f3ast_tff.models import Model
from f3ast_tff.optimizer import Optimizer
from f3ast_tff.preprocessing import AsStored, Inputs
from f3ast_tff.process_memory import return_free_memory, share_arenas
from f3ast_tff.selection import Cohort


class TffEngine:
    """Executes rounds on a TFF runtime, and evaluates in this process."""

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
        runtime: str = "worker",
        device: str = "auto",
        workers: Workers | None = None,
        round_timeout_s: float | None = None,
    ) -> None:
        """Builds the learning process and starts its runtime.

        Args:
            data: Of all clients.
            model: The network; its initial weights come from `seed`.
            work: Local work of a client.
            client_optimizer: Of the local steps.
            server_optimizer: Of the step along the aggregate.
            aggregation: `"sum"`, `"mean"` or `"latest"`, see `build_parts`.
            seed: Of the initial weights.
            worker_log: File for the output of TFF's worker.
            inputs: From features to what the model reads; by default the features.
            clients_at_once: Most clients that TFF's worker trains at the same time, which bounds
                memory; -1 for no limit.
            client_loss: See `client_loss.reduce_losses`.
            latest: FedLaAvg's memory, for the aggregation `"latest"`; on TFF's worker alone.
            runtime: `"worker"` for TFF's, `"tf"` for TensorFlow in this process.
            device: Of the latter, see `tff_device.find_device`.
            workers: Train the clients, in place of this process; only with `"tf"`. Closed with
                the engine.
            round_timeout_s: Seconds after which a round on TFF's worker counts as hung; `None`
                for no limit.
        """
        self._data = data
        self._work = work
        self._client_loss = client_loss
        self._client_optimizer = client_optimizer
        self._latest = latest
        self._workers = workers
        inputs = inputs or AsStored()
        composition = TffComposition(
            model, work, inputs, client_optimizer, server_optimizer, aggregation
        )
        self._runtime: WorkerRuntime | InProcessRuntime
        if runtime == "tf":
            # Before anything else of TensorFlow's: GPUs shall take memory as they need it.
            share_arenas()
            device = find_device(device)
        parts = composition.parts(data.train)
        process = parts.compose()
        if runtime == "tf":
            self._runtime = InProcessRuntime(process, device)
        else:
            self._runtime = WorkerRuntime(process, worker_log, clients_at_once, round_timeout_s)
        try:
            if latest is not None:
                self._next_with_updates = build_round_with_updates(parts)
            self._feed = ClientFeed(data.train, work, inputs)
            self._scorer = KerasScorer(model, inputs, data.train)
            initial = tff.learning.models.ModelWeights(model.initial_weights(seed), [])
            self._state = self._runtime.initialize()._replace(global_model_weights=initial)
            if runtime == "tf":
                # What building leaves behind, some 100 MiB, the rounds would come on top of.
                return_free_memory()
        except BaseException:
            self._runtime.close()
            raise

    def run_rounds(self, first_round: int, cohorts: Sequence[Cohort]) -> list[RoundOutcome]:
        """See `Engine.run_rounds`.

        Raises:
            EngineError: If a worker has died; the model is that of the last completed round.
        """
        outcomes = []
        for t, cohort in enumerate(cohorts, start=first_round):
            try:
                outcomes.append(self._run_round(t, cohort) if len(cohort) else EMPTY_ROUND)
            except EngineError as error:
                if self._workers is not None:
                    raise
                raise EngineError(f"round {t}: {error}") from error
        return outcomes

    def _run_round(self, round_number: int, cohort: Cohort) -> RoundOutcome:
        if self._latest is not None:
            return self._latest_round(self._latest, round_number, cohort)
        output = self._next(self._state_at(round_number), round_number, cohort)
        outcome = _outcome(output.metrics, len(cohort))
        # Rejected: keep the server optimizer's state too, a step along nothing would move Adam.
        if not outcome.rejected:
            self._state = output.state
        return outcome

    def _next(self, state: Any, round_number: int, cohort: Cohort) -> Any:
        runtime = self._runtime
        if self._workers is None:
            return runtime.next(state, self._feed.datasets(round_number, cohort))
        assert isinstance(runtime, InProcessRuntime)
        parts = self._workers.train(runtime.prepare(state), round_number, cohort)
        return runtime.finish(state, reduce(runtime.merge, parts))

    def _latest_round(
        self, latest: LatestUpdates, round_number: int, cohort: Cohort
    ) -> RoundOutcome:
        def train(these: Cohort, correction: np.ndarray) -> Trained:
            aggregator = self._state.aggregator
            parts = leaves_of(correction, tf.nest.flatten(aggregator))
            start = self._state_at(round_number)._replace(
                aggregator=tf.nest.pack_sequence_as(aggregator, parts)
            )
            assert isinstance(self._runtime, WorkerRuntime)
            feed = self._feed.datasets(round_number, these)
            output, clients = self._runtime.run(self._next_with_updates, start, feed)
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
        """See `Engine.statistics`: what the runtime and the workers say of themselves."""
        workers = {} if self._workers is None else self._workers.statistics()
        return {"engine": "tff", **self._runtime.statistics(), **workers}

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
        """Ends the runtime and the workers."""
        self._runtime.close()
        if self._workers is not None:
            self._workers.close()


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
