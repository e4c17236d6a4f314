"""The reference engine: a TensorFlow Federated learning process executes the rounds."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from f3ast_tff.core.errors import EngineError
from f3ast_tff.core.process_memory import return_free_memory, share_arenas
from f3ast_tff.engines.client_loss import mean_losses, scored_rows, training_loss
from f3ast_tff.engines.distributed.workers import Workers, in_order_of
from f3ast_tff.engines.engine import (
    ClientScores,
    EngineParts,
    Flight,
    RoundOutcome,
    empty_round,
    refuse_foreign_state,
)
from f3ast_tff.engines.tff.composition import ClientFeed, KerasScorer, process_of, start_of
from f3ast_tff.engines.tff.functions import find_device
from f3ast_tff.engines.tff.runtime import InProcessRuntime, TffRuntime
from f3ast_tff.engines.tff.worker import WorkerRuntime
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.host_memory import Delivered, HostMemory, flat, leaves_of
from f3ast_tff.methods.parts.memory import ClientInit, RoundContext
from f3ast_tff.methods.parts.strategy import Cohort


class TffEngine:
    """Executes rounds on a TFF runtime, and evaluates in this process."""

    block_rounds = 1

    def __init__(
        self,
        parts: EngineParts,
        *,
        runtime: str = "tf",
        device: str = "auto",
        workers: Workers | None = None,
        clients_at_once: int | None = None,
        round_timeout_s: float | None = None,
    ) -> None:
        """Builds the learning process and starts its runtime.

        Args:
            parts: Parts of the engine.
            runtime: `"tf"` for TensorFlow in this process, `"worker"` for TFF's own worker, which
                other machines can reach: see `worker.TffWorker`.
            device: Device of the in-process runtime, see `functions.find_device`.
            workers: Workers that train the clients instead of this process; only with `"tf"`.
                Closed with the engine.
            clients_at_once: Largest number of clients that TFF's worker trains at the same time,
                which bounds memory; -1 for no limit, `None` for the number in `parts`.
            round_timeout_s: Seconds after which a round on TFF's worker counts as hung; `None`
                for no limit.

        Raises:
            EngineError: If TFF's worker cannot be started.
            ParameterError: If there is no such device, or an optimizer has no form in TFF.
        """
        self._parts = parts
        self._workers = workers
        if runtime == "tf":
            # Before any other call of TensorFlow, so that GPUs take memory only as needed.
            share_arenas()
            device = find_device(device)
        aggregation = self._aggregation(parts)
        process = process_of(parts, aggregation, parts.data.train)
        weights = parts.model.initial_weights(parts.seed)
        rules = parts.aggregation.memory
        self._memory = None
        if rules is not None and parts.p is not None:
            self._memory = HostMemory(rules, parts.p, flat(weights))
        self._runtime: TffRuntime
        if runtime == "tf":
            self._runtime = InProcessRuntime(process, device)
        else:
            self._runtime = WorkerRuntime(
                process,
                log=parts.folder / "tff_worker.log" if parts.folder else Path(os.devnull),
                clients_at_once=parts.tff_clients_at_once
                if clients_at_once is None
                else clients_at_once,
                timeout_s=round_timeout_s,
            )
        try:
            start = start_of(parts.model, aggregation)
            self._feed = ClientFeed(parts.data.train, parts.work, parts.preprocessing, start)
            self._scorer = KerasScorer(parts.model, parts.preprocessing, parts.data.train)
            initial = tff.learning.models.ModelWeights(weights, [])
            self._state = self._runtime.initialize()._replace(global_model_weights=initial)
            if runtime == "tf":
                # Building leaves some 100 MiB of freed memory, beside the memory of the rounds.
                return_free_memory()
        except BaseException:
            self._runtime.close()
            raise

    @staticmethod
    def _aggregation(parts: EngineParts) -> Aggregation:
        """The aggregation that TFF executes."""
        return parts.aggregation

    def run_rounds(
        self,
        first_round: int,
        cohorts: Sequence[Cohort],
        by_client: bool = False,
        flights: Sequence[Flight] = (),
    ) -> list[RoundOutcome]:
        """See `Engine.run_rounds`.

        Raises:
            EngineError: If a worker has died; the model is that of the last completed round.
        """
        outcomes = []
        for t, cohort in enumerate(cohorts, start=first_round):
            try:
                outcomes.append(self._run_round(t, cohort, by_client))
            except EngineError as error:
                if self._workers is not None:
                    raise
                raise EngineError(f"round {t}: {error}") from error
        return outcomes

    def _run_round(self, round_number: int, cohort: Cohort, by_client: bool) -> RoundOutcome:
        memory, state = self._memory, self._state_at(round_number)
        if memory is None:
            if len(cohort) == 0:
                return empty_round(by_client)
            output, ids = self._execute(state, round_number, cohort)
            outcome = _outcome(output.metrics, cohort, ids, by_client)
            # Rejected: keep the server optimizer's state too, as Adam moves even along zeros.
            if outcome.rejected or not np.isfinite(model_of(output.state)).all():
                return left_alone(outcome)
            self._state = output.state
            return outcome
        rate = self._parts.client_optimizer.rate(round_number)
        now = memory.now(round_number, rate, model_of(state))
        train, work = self._parts.data.train, self._parts.work
        steps = work.num_batches(train.sizes[cohort.ids.astype(np.int64)])
        state = self._corrected(state, memory, now)
        starts = memory.starts(cohort.ids, steps, now)
        output, ids = self._execute(state, round_number, cohort, starts)
        outcome = _outcome(output.metrics, cohort, ids, by_client)
        none = np.zeros((0, 0), np.float32)
        updates = np.asarray(output.metrics["client_work"].get("updates", none))
        finite = _delivered(output.metrics)
        return self._advance(memory, now, output, outcome, (ids, finite, updates, steps))

    def _corrected(self, state: Any, memory: HostMemory, now: RoundContext) -> Any:
        """The state with the memory's term of this round's Delta."""
        aggregator = state.aggregator
        like = aggregator["correction"]
        leaves = leaves_of(memory.correction(now), tf.nest.flatten(like))
        mean = np.bool_(memory.mean(self._parts.aggregation.normalise, now))
        correction = tf.nest.pack_sequence_as(like, leaves)
        new = OrderedDict(correction=correction, mean=mean)
        return state._replace(aggregator=type(aggregator)(new))

    def _execute(
        self,
        state: Any,
        round_number: int,
        cohort: Cohort,
        starts: Sequence[ClientInit] | None = None,
    ) -> tuple[Any, np.ndarray]:
        """Executes a round; returns TFF's output and the clients in the order of its metrics."""
        if self._workers is None or len(cohort) == 0:
            data = self._feed.datasets(round_number, cohort, starts)
            return self._runtime.next(state, data), cohort.ids
        parts = self._workers.train(self._runtime.prepare(state), round_number, cohort)
        total = reduce(self._runtime.merge, [part.sums for part in parts])
        ids = np.concatenate([part.ids for part in parts])
        return self._runtime.finish(state, total), ids

    def _advance(
        self,
        memory: HostMemory,
        now: RoundContext,
        output: Any,
        outcome: RoundOutcome,
        came: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
        rates: np.ndarray | None = None,
    ) -> RoundOutcome:
        """Applies a round to the memory; `came` and `rates` are fields of `Delivered`."""
        metrics, model = output.metrics, model_of(output.state)
        none = np.zeros((0, 0), np.float32)
        delta = np.asarray(metrics["aggregator"].get("delta", none))
        fine = not bool(metrics["finalizer"]["update_non_finite"]) and np.isfinite(model).all()
        ids, finite, updates, steps = came
        delivered = Delivered(
            ids=ids,
            finite=finite,
            updates=updates,
            steps=steps,
            delta=delta,
            model=model,
            fine=bool(fine),
            rates=rates,
        )
        advanced = memory.advance(delivered, now)
        state = output.state if advanced.moves else self._state
        weights = state.global_model_weights
        leaves = leaves_of(advanced.closed, weights.trainable)
        closed = tff.learning.models.ModelWeights(leaves, weights.non_trainable)
        self._state = state._replace(global_model_weights=closed)
        return replace(
            outcome,
            train_loss=outcome.train_loss if advanced.keeps else float("nan"),
            update_norm=float(metrics["aggregator"]["update_norm"]) if advanced.moves else 0.0,
            rejected=not (advanced.moves or advanced.keeps) or not advanced.fits,
        )

    def _state_at(self, round_number: int) -> Any:
        """The state with the client learning rate of a round."""
        optimizer = self._parts.client_optimizer
        if optimizer.is_constant:
            return self._state
        rate = np.float32(optimizer.rate(round_number))
        hparams = OrderedDict(self._state.client_work, learning_rate=rate)
        return self._state._replace(client_work=hparams)

    def evaluate(self) -> ClientScores:
        """See `Engine.evaluate`."""
        weights = self.weights()
        if self._memory is not None:
            weights = leaves_of(self._memory.evaluated(flat(weights)), weights)
        return self._scorer.clients(weights, self._parts.data.test)

    def client_losses(self, ids: np.ndarray, round_number: int = 1) -> np.ndarray:
        """See `Engine.client_losses`."""
        parts, train = self._parts, self._parts.data.train
        if parts.client_loss == "training_loss":
            return training_loss(self, parts, ids, round_number)
        rows = scored_rows(ids, train.offsets, parts.work, parts.client_loss, round_number)
        these = np.concatenate(rows)
        scores = self._scorer.examples(self.weights(), train.features[these], train.labels[these])
        sizes = np.array([len(of_client) for of_client in rows])
        return mean_losses(scores, sizes, parts.client_loss)

    def statistics(self) -> dict[str, Any]:
        """See `Engine.statistics`; entries of the runtime and the workers."""
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
        return state if self._memory is None else {**state, **self._memory.state()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """See `Engine.restore`."""
        refuse_foreign_state(state, self.state())
        leaves = [state[name] for name in sorted(state) if name.isdigit()]
        self._state = tf.nest.pack_sequence_as(self._state, leaves)
        if self._memory is not None:
            self._memory.restore(state)

    def close(self) -> None:
        """Ends the runtime and the workers."""
        self._runtime.close()
        if self._workers is not None:
            self._workers.close()


def left_alone(outcome: RoundOutcome) -> RoundOutcome:
    """Returns the outcome of a round in which the model stayed."""
    return replace(outcome, train_loss=float("nan"), update_norm=0.0, rejected=True)


def model_of(state: Any) -> np.ndarray:
    """Returns the model, `float32 [num_weights]`."""
    return flat(state.global_model_weights.trainable)


def _delivered(metrics: Any) -> np.ndarray:
    return np.asarray(metrics["client_work"]["delivered"]) > 0


def _outcome(
    metrics: Any, cohort: Cohort, ids: np.ndarray, by_client: bool = False
) -> RoundOutcome:
    """Outcome of a round from metrics of clients in the order of `ids`."""
    trained, delivered = metrics["client_work"]["inner"]["train"], _delivered(metrics)
    dropped = int(np.count_nonzero(~delivered))
    rejected = dropped == len(ids) or bool(metrics["finalizer"]["update_non_finite"])
    found, losses = np.asarray(trained["client_losses"], np.float64), None
    # TFF's mean of no examples is 0.
    no_loss = rejected or bool(np.isnan(found).all())
    if by_client:
        losses, delivered = in_order_of(cohort.ids, ids, found, delivered)
    return RoundOutcome(
        train_loss=float("nan") if no_loss else float(trained["loss"]),
        update_norm=0.0 if rejected else float(metrics["aggregator"]["update_norm"]),
        num_dropped=dropped,
        rejected=rejected,
        client_losses=losses,
        delivered=delivered if by_client else None,
    )
