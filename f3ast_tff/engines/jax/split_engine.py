"""The fused engine whose clients train on workers, each with a shard of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from f3ast_tff.engines.distributed.ray_workers import RayWorkers
from f3ast_tff.engines.distributed.workers import TrainedPart, in_order_of
from f3ast_tff.engines.engine import EngineParts, LateCohort, RoundOutcome, empty_round
from f3ast_tff.engines.jax.engine import FusedEngine, Queued, on_host
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

    def run_rounds(
        self,
        first_round: int,
        cohorts: Sequence[Cohort],
        by_client: bool = False,
        late_cohorts: Sequence[LateCohort] = (),
    ) -> list[RoundOutcome]:
        rounds = range(first_round, first_round + len(cohorts))
        return [self._split(t, cohort, by_client) for t, cohort in zip(rounds, cohorts)]

    def _split(self, round_number: int, cohort: Cohort, by_client: bool) -> RoundOutcome:
        if len(cohort) == 0 and self._needs_clients:
            return empty_round(by_client)
        memory_inputs = self._memory_inputs(round_number, None)
        weights = self.weights()
        parts = self._workers.train(weights, round_number, cohort, by_client) if len(cohort) else []
        totals = self._clients.put(merged([part.sums for part in parts], weights))
        self._state, outcome, _ = self._programs.finish(
            self._state,
            totals,
            num_clients=np.float32(len(cohort)),
            learning_rate=np.float32(self._parts.client_optimizer.rate(round_number)),
            memory_inputs=memory_inputs,
        )
        done = on_host(Queued(jax.device_get(outcome)))
        return _with_clients(done, cohort, parts) if by_client else done

    def statistics(self) -> dict[str, Any]:
        """Adds the entries of the workers."""
        return {**super().statistics(), **self._workers.statistics()}

    def close(self) -> None:
        """Ends the workers."""
        self._workers.close()


def _with_clients(
    outcome: RoundOutcome, cohort: Cohort, parts: Sequence[TrainedPart]
) -> RoundOutcome:
    """The outcome with the workers' losses and arrivals per client."""
    trained = [(part.ids, part.client_losses, part.delivered) for part in parts]
    ids, losses, delivered = (np.concatenate(column) for column in zip(*trained))
    losses, delivered = in_order_of(cohort.ids, ids, losses, delivered)
    return replace(outcome, client_losses=losses, delivered=delivered)
