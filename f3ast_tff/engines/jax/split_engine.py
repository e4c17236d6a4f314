"""The fused engine whose clients train on workers, each with a shard of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from f3ast_tff.engines.distributed.ray_workers import RayWorkers
from f3ast_tff.engines.distributed.workers import TrainedPart, in_order_of
from f3ast_tff.engines.engine import EngineParts
from f3ast_tff.engines.jax.engine import FusedEngine, Queued
from f3ast_tff.engines.jax.packing import PackedCohort
from f3ast_tff.engines.jax.round import ByLane
from f3ast_tff.engines.jax.trainer import merged
from f3ast_tff.methods.parts.strategy import Cohort


class SplitFusedEngine(FusedEngine):
    """A `FusedEngine` that only steps: workers train, and send sums over their clients."""

    def __init__(self, parts: EngineParts, *, workers: RayWorkers, **options: Any) -> None:
        """Takes the workers, which are closed with the engine, and the options of `FusedEngine`.

        A memory of clients stays with one process; settings refuse it before.
        """
        self._workers = workers
        super().__init__(parts, **options)

    def _training(self, cohorts: Sequence[Cohort]) -> Sequence[Cohort]:
        return [Cohort(np.zeros(0, np.int64), np.zeros(0))] * len(cohorts)

    def _queue(
        self, t: int, cohort: Cohort, packed: PackedCohort, by_client: bool
    ) -> Queued | None:
        if len(cohort) == 0 and self._needs_clients:
            return None
        memory_inputs = self._memory_inputs(t, None)
        weights = self.weights()
        parts = self._workers.train(weights, t, cohort, by_client) if len(cohort) else []
        totals = self._clients.put(merged([part.sums for part in parts], weights))
        self._state, outcome, _ = self._programs.finish(
            self._state,
            totals,
            num_clients=np.float32(len(cohort)),
            learning_rate=np.float32(self._parts.client_optimizer.rate(t)),
            memory_inputs=memory_inputs,
        )
        if not by_client:
            return Queued(outcome)
        ids, losses, delivered = by_client_of(parts)
        clients, first = np.unique(cohort.ids, return_index=True)
        member = first[np.searchsorted(clients, ids)]
        return Queued(outcome, ByLane(losses, delivered), (cohort.ids, member))

    def _losses_met(self, ids: np.ndarray, round_number: int) -> np.ndarray:
        cohort = Cohort(ids, np.ones(len(ids)))
        parts = self._workers.train(self.weights(), round_number, cohort, by_client=True)
        found, losses, _ = by_client_of(parts)
        return in_order_of(ids, found, losses)[0]

    def statistics(self) -> dict[str, Any]:
        """Adds the entries of the workers."""
        return {**super().statistics(), **self._workers.statistics()}

    def close(self) -> None:
        """Ends the workers."""
        self._workers.close()


def by_client_of(parts: Sequence[TrainedPart]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the clients of all parts, their mean losses, and whether their update is finite."""
    nobody = np.zeros(0, np.int64), np.zeros(0), np.zeros(0, bool)
    trained = [(part.ids, part.client_losses, part.delivered) for part in parts]
    ids, losses, delivered = map(np.concatenate, zip(nobody, *trained))
    return ids, losses, delivered
