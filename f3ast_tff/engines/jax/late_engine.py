"""The fused engine for late updates, which it keeps in slots on the device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from f3ast_tff.engines.engine import EngineParts, LateCohort
from f3ast_tff.engines.jax.engine import FusedEngine, Queued
from f3ast_tff.engines.jax.late import LateMemory, pack_arrived, slots_by_lane
from f3ast_tff.engines.jax.packing import PackedCohort
from f3ast_tff.methods.parts.strategy import Cohort


class LateFusedEngine(FusedEngine):
    """A `FusedEngine` whose cohorts are each a `LateCohort`.

    A round first trains the asked clients, from its model, and keeps their updates in slots. Then
    the updates of its cohort, from any round, are added up in the order of their slots, and the
    server steps (late.py). A memory treats an update as if it had been trained in the round it
    enters.
    """

    def __init__(self, parts: EngineParts, **options: Any) -> None:
        """Takes the options of `FusedEngine`."""
        super().__init__(parts, **options)
        num_weights = sum(weight.size for weight in self._state.weights)
        self._late = LateMemory(num_weights, self._clients.device)

    def _training(self, cohorts: Sequence[Cohort]) -> Sequence[Cohort]:
        return [Cohort(of.asked, np.zeros(len(of.asked))) for of in map(_late, cohorts)]

    def _queue(
        self, t: int, cohort: Cohort, packed: PackedCohort, by_client: bool
    ) -> Queued | None:
        entering = _late(cohort)
        if len(entering.asked):
            self._start(t, entering, packed)
        return self._enter(t, entering, by_client)

    def _start(self, round_number: int, cohort: LateCohort, packed: PackedCohort) -> None:
        """Trains the asked clients and keeps their updates in slots."""
        late = self._late
        late.reserve(cohort)
        inputs = self._clients.inputs(round_number, packed)
        slots = slots_by_lane(packed, cohort.slots)
        late.kept = self._programs.late.start(self._state, inputs, slots, kept=late.kept)

    def _enter(self, round_number: int, cohort: LateCohort, by_client: bool) -> Queued | None:
        """Adds up late updates and makes the server's step."""
        if cohort.forgets is not None:
            from f3ast_tff.engines.forgetting import with_forgotten

            memory, p = self._parts.aggregation.memory, self._parts.p
            cohort = with_forgotten(cohort, memory, p, round_number)
        if len(cohort) == 0 and self._needs_clients:
            return None
        parts = self._parts
        arrived, member, client = pack_arrived(
            cohort,
            work=parts.work,
            sizes=parts.data.train.sizes,
            optimizer=parts.client_optimizer,
            round_number=round_number,
        )
        arrived = arrived._replace(memory_inputs=self._memory_inputs(round_number, client))
        places = (cohort.entering, member)
        return self._run(
            self._programs.late.enter,
            client,
            places if by_client else None,
            arrived,
            self._late.kept,
        )

    def state(self) -> dict[str, np.ndarray]:
        """Includes the updates under way."""
        return {**super().state(), **self._late.state()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self._late.restore(state)
        super().restore(state)


def _late(cohort: Cohort) -> LateCohort:
    assert isinstance(cohort, LateCohort)
    return cohort
