"""The fused engine for late updates, which it keeps on the device until they enter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.engines.engine import EngineParts, Flight, RoundOutcome, empty_round
from f3ast_tff.engines.jax.client_tables import room_on
from f3ast_tff.engines.jax.engine import FusedEngine, on_host
from f3ast_tff.engines.jax.late_round import Arrived, LateUpdates
from f3ast_tff.engines.jax.packing import PackedCohort, round_up
from f3ast_tff.engines.jax.round import ByLane, RoundInputs
from f3ast_tff.engines.jax.server_step import DeviceOutcome
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.optimizers import Optimizer

_PREFIX = "late_"
# Numbers of slots and arrivals are rounded up to this times a power, so that few shapes occur.
_FEWEST = 16


class LateMemory:
    """Updates under way, one row per slot; the number of rows only grows and is rounded up.

    Attributes:
        kept: The updates.
    """

    def __init__(self, num_weights: int, device: Any) -> None:
        """Starts with room for a few updates of `num_weights` numbers."""
        self._device = device
        self._num_weights = num_weights
        self.kept = self._zeros(_FEWEST)

    def _zeros(self, rows: int) -> LateUpdates:
        def zeros(shape: tuple[int, ...]) -> Any:
            return jax.device_put(jnp.zeros(shape, jnp.float32), self._device)

        return LateUpdates(zeros((rows, self._num_weights)), zeros((rows,)), zeros((rows,)))

    def reserve(self, flight: Flight) -> None:
        """Makes room for the updates that start in a round.

        Raises:
            ParameterError: If the device has no room.
        """
        rows, needed = len(self.kept.loss), int(flight.slots.max(initial=-1)) + 1
        if needed <= rows:
            return
        more = max(rows, needed - rows)
        if 4 * more * self._num_weights > room_on(self._device):
            allowed = (
                f"must be less: {self._device.device_kind} has no room for {rows + more} updates "
                f"of {4 * self._num_weights / 2**20:.1f} MiB that are under way at once"
            )
            raise ParameterError("late_most_rounds", "", allowed)
        grown = zip(self.kept, self._zeros(more))
        self.kept = LateUpdates(*(jnp.concatenate(parts) for parts in grown))

    def state(self) -> dict[str, np.ndarray]:
        """Returns the updates for a checkpoint."""
        kept = self.kept._asdict()
        return {f"{_PREFIX}{name}": np.asarray(value) for name, value in kept.items()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Restores updates, and removes them from `state`.

        Raises:
            ValueError: If the updates are of another model.
        """
        saved = LateUpdates(*(state.pop(f"{_PREFIX}{name}") for name in LateUpdates._fields))
        if saved.update.shape != (len(saved.loss), self._num_weights):
            raise ValueError("the saved updates under way are those of another model")
        # A copy, as a round writes into its argument.
        placed = (jnp.array(jax.device_put(part, self._device), copy=True) for part in saved)
        self.kept = LateUpdates(*placed)


def slots_by_lane(packed: PackedCohort, slots: np.ndarray) -> np.ndarray:
    """Returns the slot of each lane's client, -1 for an empty lane, `int32 [waves, lanes]`."""
    found = np.full(packed.member.shape, -1, np.int32)
    there = packed.member >= 0
    found[there] = slots[packed.member[there]]
    return found


def pack_arrived(
    cohort: Cohort,
    flight: Flight,
    *,
    work: LocalTraining,
    sizes: np.ndarray,
    optimizer: Optimizer,
    round_number: int,
) -> tuple[Arrived, np.ndarray]:
    """Packs the updates that enter in a round.

    A client of the cohort that is drawn twice has two places and one update. `sizes` are the
    training examples of each client, `int [N]`.

    Returns:
        The updates, without a memory's inputs; and the row of each place, `int64 [m]`.
    """
    unique = np.unique(flight.entering, return_index=True, return_inverse=True, return_counts=True)
    slots, place, which, times = unique
    number = len(slots)
    most = round_up(number, _FEWEST)
    weights = np.bincount(which.reshape(-1), cohort.weights, number)
    ids = cohort.ids[place].astype(np.int64)
    rates = [optimizer.rate(int(t)) for t in flight.asked_in[place]]

    def padded(values: Any, dtype: Any, pad: int = 0) -> np.ndarray:
        found = np.full(most, pad, dtype)
        found[:number] = values
        return found

    arrived = Arrived(
        number=np.int32(number),
        slot=padded(slots, np.int32),
        weight=padded(weights, np.float32),
        times=padded(times, np.float32),
        client=padded(ids, np.int32, -1)[:, None],
        steps=padded(work.num_batches(sizes[ids]), np.int32)[:, None],
        rates=padded(rates, np.float32, 1)[:, None],
        num_clients=np.float32(len(cohort)),
        learning_rate=np.float32(optimizer.rate(round_number)),
        step=np.float32(cohort.step),
        remembered=None,
    )
    return arrived, which.reshape(-1)


class LateEngine(FusedEngine):
    """A `FusedEngine` with a `Flight` per round.

    A round first trains the asked clients, from its model, and keeps their updates in slots. Then
    the updates of its cohort, from any round, are added up in the order of their slots, and the
    server steps. A memory treats an update as if it had been trained in the round it enters.
    """

    def __init__(self, parts: EngineParts, **options: Any) -> None:
        """See `FusedEngine.__init__`; takes the same options without `workers`."""
        super().__init__(parts, **options)
        num_weights = sum(weight.size for weight in self.weights())
        self._late = LateMemory(num_weights, self._device)

    def run_rounds(
        self,
        first_round: int,
        cohorts: Sequence[Cohort],
        by_client: bool = False,
        flights: Sequence[Flight] = (),
    ) -> list[RoundOutcome]:
        rounds = range(first_round, first_round + len(cohorts))
        trained = [Cohort(flight.asked, np.zeros(len(flight.asked))) for flight in flights]
        queued: list[Any] = []
        packings = self._packed(rounds, trained)
        for t, cohort, flight, packed in zip(rounds, cohorts, flights, packings):
            if len(flight.asked):
                self._start(t, flight, packed)
            queued.append(self._enter(t, cohort, flight, by_client))
        outcomes = []
        for done in queued:
            if done is None:
                outcomes.append(empty_round(by_client))
                continue
            (outcome, by_lane), which = self._fetched(done[:2]), done[2]
            found = on_host(outcome)
            if by_client:
                finite = by_lane.finite[which, 0]
                losses = np.where(finite, by_lane.loss[which, 0].astype(np.float64), np.nan)
                found = replace(found, client_losses=losses, delivered=finite)
            outcomes.append(found)
        return outcomes

    def _start(self, round_number: int, flight: Flight, packed: PackedCohort) -> None:
        late = self._late
        late.reserve(flight)
        inputs = RoundInputs(
            features=self._features,
            labels=self._labels,
            work=packed.work,
            learning_rate=self._rate(round_number),
        )
        slots = slots_by_lane(packed, flight.slots)
        late.kept = self._programs.start_late(self._state, inputs, slots, kept=late.kept)

    def _enter(
        self, round_number: int, cohort: Cohort, flight: Flight, by_client: bool
    ) -> tuple[DeviceOutcome, ByLane, np.ndarray] | None:
        parts, tables = self._parts, self._tables
        if len(cohort) == 0 and parts.aggregation.memory is None:
            return None
        arrived, which = pack_arrived(
            cohort,
            flight,
            work=parts.work,
            sizes=parts.data.train.sizes,
            optimizer=parts.client_optimizer,
            round_number=round_number,
        )
        arrived = arrived._replace(remembered=self._remembered(round_number, arrived.client))
        in_place = tables is not None and tables.on_device
        if tables is not None and not in_place and arrived.remembered is not None:
            kept = arrived.remembered._replace(kept=tables.rows(arrived.client))
            arrived = arrived._replace(remembered=kept)
        self._state, outcome, by_lane, clients = self._programs.enter_late(
            self._state,
            arrived,
            self._late.kept,
            tables=tables.values if tables is not None and in_place else {},
            by_client=by_client,
        )
        if tables is not None and in_place:
            tables.values = clients
        elif tables is not None:
            tables.set_rows(arrived.client, jax.device_get(clients))
        return outcome, by_lane, which

    def state(self) -> dict[str, np.ndarray]:
        """See `Engine.state`; includes the updates under way."""
        return {**super().state(), **self._late.state()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """See `Engine.restore`; takes large arrays out of `state`."""
        self._late.restore(state)
        super().restore(state)
