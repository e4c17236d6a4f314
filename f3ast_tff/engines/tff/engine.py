"""The reference engine: a TensorFlow Federated learning process executes the rounds."""

from __future__ import annotations

import atexit
import os
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from f3ast_tff.core.errors import EngineError
from f3ast_tff.core.federated_data import ClientExamples
from f3ast_tff.engines.client_loss import client_losses
from f3ast_tff.engines.distributed.ray_workers import RayWorkers
from f3ast_tff.engines.distributed.workers import in_order_of
from f3ast_tff.engines.engine import (
    ClientScores,
    EngineParts,
    ExampleScores,
    RoundOutcome,
    empty_round,
    refuse_foreign_state,
)
from f3ast_tff.engines.host.round import HostRound
from f3ast_tff.engines.tff.composition import ClientFeed, KerasScorer, process_of, rules_of
from f3ast_tff.engines.tff.functions import find_device
from f3ast_tff.engines.tff.learning_process import RulesInTff
from f3ast_tff.engines.tff.runtime import InProcessRuntime, TffRuntime
from f3ast_tff.engines.tff.worker import WorkerRuntime
from f3ast_tff.files.process_memory import return_free_memory, share_arenas
from f3ast_tff.methods.parts.host_memory import Delivered, HostMemory, flat, leaves_of
from f3ast_tff.methods.parts.memory import ClientInit, Values
from f3ast_tff.methods.parts.strategy import Cohort

_NONE = np.zeros((0, 0), np.float32)


class _NoContext(tff.framework.SyncContext):
    """In place of TFF's own context when Python ends: destroyed later, that prints a traceback."""

    def invoke(self, comp: Any, arg: Any) -> Any:
        raise RuntimeError("Python ends")


atexit.register(tff.framework.set_default_context, _NoContext())


@dataclass(frozen=True)
class EnteringUpdates:
    """Updates of a cohort that enter in a round; see `Delivered` for most fields.

    Attributes:
        train_loss: Mean loss, see `RoundOutcome`.
        losses: Mean loss of each client's batches, `float64 [m]`.
        weights: Weights of the updates if rules have changed them, `float [m]`.
    """

    train_loss: float
    losses: np.ndarray
    finite: np.ndarray
    updates: np.ndarray
    steps: np.ndarray
    rates: np.ndarray | None = None
    weights: np.ndarray | None = None
    combined: Values = field(default_factory=dict)


class TffEngine:
    """Executes rounds on a TFF runtime, and evaluates in this process.

    The learning process is made once by `build_process` (learning_process.py): local training
    (client_work.py), a sum or mean of the updates, the server optimizer. In a round `ClientFeed`
    (composition.py) makes the clients' data sets, and the runtime executes the process on them: in
    this process, client by client, from TFF's map-reduce form (runtime.py), or in TFF's own worker
    (worker.py). With a memory, `HostMemory` then applies the rule to the updates on the host.
    `HostSumTffEngine` (host_sum_engine.py) has rules between training and the sum, `LateTffEngine`
    (late_engine.py) late updates; they override `_rules` and `_train`.
    """

    block_rounds = 1

    def __init__(
        self,
        parts: EngineParts,
        *,
        runtime: str = "tf",
        device: str = "auto",
        workers: RayWorkers | None = None,
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
        rules = self._rules(parts)
        process = process_of(parts, rules, parts.data.train)
        weights = parts.initial_weights()
        memory = parts.aggregation.memory
        self._memory = None
        if memory is not None and parts.p is not None:
            self._memory = HostMemory(
                memory, parts.p, flat(weights), parts.server_optimizer.learning_rate
            )
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
            self._feed = ClientFeed(parts.data.train, parts.work, parts.preprocessing, rules.start)
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
    def _rules(parts: EngineParts) -> RulesInTff:
        """The rules that TFF executes; `LateTffEngine` has them report the updates too."""
        return rules_of(parts)

    def run_rounds(
        self, first_round: int, cohorts: Sequence[Cohort], by_client: bool = False
    ) -> list[RoundOutcome]:
        """Executes the rounds; workers share them, if any.

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
        state = self._state_at(round_number)
        if self._memory is None and len(cohort) == 0:
            return empty_round(by_client)
        now = HostRound.begin(
            self._parts.aggregation,
            self._memory,
            number=round_number,
            rate=self._parts.client_optimizer.rate(round_number),
            model=model_of(state),
        )
        output, entering = self._train(state, cohort, now)
        metrics, model = output.metrics, model_of(output.state)
        fine = bool(np.isfinite(model).all()) and not metrics["finalizer"]["update_non_finite"]
        outcome = RoundOutcome(
            train_loss=entering.train_loss,
            update_norm=float(metrics["aggregator"]["update_norm"]),
            num_dropped=int(np.count_nonzero(~entering.finite)),
            client_losses=np.where(entering.finite, entering.losses, np.nan) if by_client else None,
            delivered=entering.finite if by_client else None,
        )
        delivered = Delivered(
            ids=cohort.ids,
            finite=entering.finite,
            updates=entering.updates,
            steps=entering.steps,
            delta=np.asarray(metrics["aggregator"].get("delta", _NONE)),
            model=model,
            fine=fine,
            rates=entering.rates,
            combined=entering.combined,
        )
        weights = cohort.weights if entering.weights is None else entering.weights
        advanced = now.remember(delivered, weights)
        # Rejected: keep the server optimizer's state too, as Adam moves even along zeros.
        state = output.state if advanced.moves else self._state
        before = state.global_model_weights
        leaves = leaves_of(advanced.closed, before.trainable)
        closed = tff.learning.models.ModelWeights(leaves, before.non_trainable)
        self._state = state._replace(global_model_weights=closed)
        return outcome.closed(advanced.moves, advanced.keeps, advanced.rejects)

    def _train(self, state: Any, cohort: Cohort, now: HostRound) -> tuple[Any, EnteringUpdates]:
        """Trains the cohort and steps the server; returns TFF's output and the updates."""
        starts, steps = None, self._steps(cohort)
        if self._memory is not None:
            state = aggregating(state, now.correction(), now.mean())
            starts = [
                start
                if start.pull is None or start.model is not None
                else start._replace(model=now.model)
                for start in now.starts(cohort.ids, steps)
            ]
        output, ids = self._execute(state, now.number, cohort, starts)
        metrics = output.metrics["client_work"]
        client_losses, delivered = trained_of(output)
        # TFF's mean of no examples is 0.
        no_loss = output.metrics["finalizer"]["update_non_finite"] or np.isnan(client_losses).all()
        losses, finite = in_order_of(cohort.ids, ids, client_losses, delivered)
        updates = np.asarray(metrics.get("updates", _NONE))
        return output, EnteringUpdates(
            train_loss=float("nan") if no_loss else float(metrics["inner"]["train"]["loss"]),
            losses=losses,
            finite=finite,
            updates=updates,
            steps=steps,
        )

    def _steps(self, cohort: Cohort) -> np.ndarray:
        """Local steps of each client, `int64 [m]`."""
        return self._parts.work.num_batches(self._parts.data.train.sizes[cohort.ids.astype(int)])

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
        runtime = self._runtime
        assert isinstance(runtime, InProcessRuntime)
        parts = self._workers.train(runtime.prepare(state), round_number, cohort)
        total = reduce(runtime.merge, [part.sums for part in parts])
        ids = np.concatenate([part.ids for part in parts])
        return runtime.finish(state, total), ids

    def _state_at(self, round_number: int) -> Any:
        """The state with the client learning rate of a round."""
        optimizer = self._parts.client_optimizer
        if optimizer.is_constant:
            return self._state
        rate = np.float32(optimizer.rate(round_number))
        hparams = OrderedDict(self._state.client_work, learning_rate=rate)
        return self._state._replace(client_work=hparams)

    def evaluate(self) -> ClientScores:
        test, owners = self._parts.data.test, self._parts.test_owners
        memory = self._memory
        if memory is None or not memory.rules.has_own_models:
            return self._scorer.clients(self.scored_weights(), test)
        scores = self._own_scores(memory, self.scored_weights(), test, clients=owners)
        return ClientScores.of_examples(scores, test.sizes)

    def _own_scores(
        self,
        memory: HostMemory,
        weights: Sequence[np.ndarray],
        examples: ClientExamples,
        rows: np.ndarray | None = None,
        clients: np.ndarray | None = None,
    ) -> ExampleScores:
        """Scores rows, each under its client's own model."""
        from f3ast_tff.engines.own_models import scores_by_owner

        def score(k: int, mine: np.ndarray) -> ExampleScores:
            own = leaves_of(memory.own_model(k, flat(weights)), weights)
            return self._scorer.examples(own, examples.features[mine], examples.labels[mine])

        return scores_by_owner(examples, score, rows=rows, clients=clients)

    def client_losses(self, ids: np.ndarray, round_number: int = 1) -> np.ndarray:
        train = self._parts.data.train

        def score(rows: np.ndarray) -> ExampleScores:
            memory = self._memory
            if memory is not None and memory.rules.has_own_models:
                return self._own_scores(memory, self.weights(), train, rows)
            features, labels = train.features[rows], train.labels[rows]
            return self._scorer.examples(self.weights(), features, labels)

        return client_losses(self._parts, ids, round_number, score=score, train=self._losses_met)

    def _losses_met(self, ids: np.ndarray, round_number: int) -> np.ndarray:
        """Mean losses of clients that train, `float64 [m]`; NaN if an update is not finite."""
        cohort = Cohort(ids, np.ones(len(ids)))
        output, found = self._execute(self._state_at(round_number), round_number, cohort)
        losses, finite = in_order_of(ids, found, *trained_of(output))
        return np.where(finite, losses, np.nan)

    def statistics(self) -> dict[str, Any]:
        """Entries of the runtime and the workers."""
        workers = {} if self._workers is None else self._workers.statistics()
        return {"engine": "tff", **self._runtime.statistics(), **workers}

    def weights(self) -> list[np.ndarray]:
        trainable = self._state.global_model_weights.trainable
        return [np.asarray(weight) for weight in trainable]

    def scored_weights(self) -> list[np.ndarray]:
        weights = self.weights()
        if self._memory is None:
            return weights
        return leaves_of(self._memory.evaluated(flat(weights)), weights)

    def state(self) -> dict[str, np.ndarray]:
        """The leaves of TFF's `LearningAlgorithmState`."""
        leaves = tf.nest.flatten(self._state)
        state = {f"{i:04d}": np.asarray(leaf) for i, leaf in enumerate(leaves)}
        return state if self._memory is None else {**state, **self._memory.state()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        refuse_foreign_state(state, TffEngine.state(self))
        leaves = [state[name] for name in sorted(state) if name.isdigit()]
        self._state = tf.nest.pack_sequence_as(self._state, leaves)
        if self._memory is not None:
            self._memory.restore(state)

    def close(self) -> None:
        """Ends the runtime and the workers."""
        self._runtime.close()
        if self._workers is not None:
            self._workers.close()


def trained_of(output: Any) -> tuple[np.ndarray, np.ndarray]:
    """Returns mean losses, `float64 [m]`, and whether updates are finite, in TFF's order."""
    metrics = output.metrics["client_work"]
    losses = np.asarray(metrics["inner"]["train"]["client_losses"], np.float64)
    return losses, np.asarray(metrics["delivered"]) > 0


def model_of(state: Any) -> np.ndarray:
    """Returns the model, `float32 [num_weights]`."""
    return flat(state.global_model_weights.trainable)


def aggregating(state: Any, correction: np.ndarray, mean: bool) -> Any:
    """Returns the state with a term of Delta, and with a mean or a sum; see `CorrectedFactory`."""
    aggregator = state.aggregator
    like = aggregator["correction"]
    leaves = leaves_of(correction, tf.nest.flatten(like))
    new = OrderedDict(correction=tf.nest.pack_sequence_as(like, leaves), mean=np.bool_(mean))
    return state._replace(aggregator=type(aggregator)(new))
