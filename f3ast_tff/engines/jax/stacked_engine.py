"""The fused engine for aggregations that combine the updates of a cohort at once, on the host."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from f3ast_tff.engines.engine import EngineParts
from f3ast_tff.engines.host.sums import Sent, check_stack, clients_of, combined
from f3ast_tff.engines.jax.engine import FusedEngine, Queued
from f3ast_tff.engines.jax.packing import PackedCohort
from f3ast_tff.methods.parts.strategy import Cohort


class StackedFusedEngine(FusedEngine):
    """A `FusedEngine` that reads each update back, for `Aggregation.combine`.

    A round is two programs: the clients train, and the server steps along Delta. Between them the
    updates are in host memory, so that rounds are not queued.
    """

    def __init__(self, parts: EngineParts, **options: Any) -> None:
        """Takes the options of `FusedEngine`; says how much memory the updates take."""
        super().__init__(parts, **options)
        num_weights = sum(weight.size for weight in self._state.weights)
        check_stack(parts.aggregation, parts.cohort_size, num_weights)

    def _queue(
        self, t: int, cohort: Cohort, packed: PackedCohort, by_client: bool
    ) -> Queued | None:
        if len(cohort) == 0 and self._needs_clients:
            return None
        client, memory_inputs = packed.client, self._memory_inputs(t, packed.client)
        inputs = self._clients.inputs(t, packed, memory_inputs)
        tables, row = ({}, None) if self._tables is None else self._tables.lent(client)
        programs = self._programs.stacked
        totals, by_lane, clients, stack = programs.train(self._state, inputs, tables, row)
        updates, weights = (np.asarray(part) for part in jax.device_get(stack))
        flat = client.ravel()
        sent = Sent(
            ids=flat,
            steps=packed.work.steps.ravel(),
            updates=updates.reshape(len(flat), -1),
            weights=weights.ravel(),
            finite=np.asarray(by_lane.finite).ravel(),
        )
        kept: dict[str, Any] = {}
        if self._tables is not None:
            ids = clients_of(sent)
            kept = jax.device_get({name: each[ids] for name, each in self._tables.values.items()})
        delta, changed = combined(
            self._parts.aggregation,
            sent,
            round_number=t,
            model=np.concatenate([np.ravel(weight) for weight in self.weights()]),
            server=jax.device_get(self._state.memory),
            kept=kept,
        )
        self._state, outcome, tables = programs.finish(
            self._state,
            totals,
            tables=tables,
            row=row,
            num_clients=np.float32(len(cohort)),
            learning_rate=inputs.learning_rate,
            memory_inputs=memory_inputs,
            clients=clients,
            combined=delta,
            changed=changed,
        )
        if self._tables is not None:
            self._tables.take_back(client, tables)
        return Queued(outcome, by_lane, (cohort.ids, packed.member) if by_client else None)
