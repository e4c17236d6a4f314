"""Late updates: two programs for XLA, clients train and updates enter; updates are kept between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.flatten_util import ravel_pytree

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.engines.engine import LateCohort
from f3ast_tff.engines.jax.client_tables import room_on
from f3ast_tff.engines.jax.local_sgd import LocalStart, Trained
from f3ast_tff.engines.jax.packing import PackedCohort, round_up
from f3ast_tff.engines.jax.round import (
    ByLane,
    FusedRound,
    RoundInputs,
    Summed,
    summed_nothing,
    with_wave,
)
from f3ast_tff.engines.jax.server_step import ClientsKept, DeviceOutcome, MemoryInputs, ServerState
from f3ast_tff.optimizers import Optimizer

_PREFIX = "late_"
# Numbers of slots and arrivals are rounded up to this times a power, so that few shapes occur.
_FEWEST = 16


class LateUpdates(NamedTuple):
    """Updates under way, one row per slot; rows of free slots have no meaning.

    Attributes:
        update: D_k, `float32 [slots, num_weights]`; the client's trained model if the aggregation
            `mixes_models`.
        loss: `Trained.loss`, `float32 [slots]`.
        count: `Trained.count`, `float32 [slots]`.
    """

    update: Any
    loss: Any
    count: Any


class Arrived(NamedTuple):
    """Updates that enter in a round, each slot once; padded beyond `number`.

    Attributes:
        number: Number of updates.
        slot: Slot of each update, `int32 [m]`; below 0 for the update 0 of a forgotten client.
        weight: Weight of each update, summed over its places in the cohort, `float32 [m]`.
        times: Number of its places in the cohort, `float32 [m]`.
        steps: Local steps of each client, `int32 [m, 1]`.
        rates: Client learning rate of the round in which the client was asked, `float32 [m, 1]`.
        num_clients: Number of places in the cohort.
        learning_rate: Client learning rate of this round.
        step: Factor of the server's learning rate.
        memory_inputs: Extra inputs of a memory, if any; of shape `[m, 1]`, not `[waves, lanes]`.
    """

    number: Any
    slot: Any
    weight: Any
    times: Any
    steps: Any
    rates: Any
    num_clients: Any
    learning_rate: Any
    step: Any
    memory_inputs: MemoryInputs | None


@dataclass(frozen=True)
class FusedLateRound:
    """The two halves of a round.

    Attributes:
        fused: The round of a composition; its memory, if any, must not set clients' starts.
    """

    fused: FusedRound

    def start(
        self, state: ServerState, inputs: RoundInputs, slots: Any, kept: LateUpdates
    ) -> LateUpdates:
        """Trains the asked clients and keeps their updates.

        Args:
            state: State before the round.
            inputs: Data, steps and learning rate.
            slots: Slot of each lane's client, -1 for an empty lane, `int32 [waves, lanes]`.
            kept: Updates under way.
        """
        train_wave = self.fused.wave_training(inputs)
        model, _ = ravel_pytree(state.weights)
        origin = jnp.zeros_like(model) if self.fused.aggregation.mixes_models else model
        # Rows beyond the end are dropped.
        slots = jnp.where(slots < 0, len(kept.loss), slots)

        def wave(w: Any, kept: LateUpdates) -> LateUpdates:
            trained = train_wave(w, LocalStart(state.weights))
            after = jax.vmap(lambda weights: ravel_pytree(weights)[0])(trained.weights)
            found = LateUpdates(after - origin, trained.loss, trained.count)
            return LateUpdates(
                *(old.at[slots[w]].set(new, mode="drop") for old, new in zip(kept, found))
            )

        done: LateUpdates = self.fused.over_waves(inputs.work, wave, kept)
        return done

    def enter(
        self, state: ServerState, arrived: Arrived, kept: LateUpdates, by_client: bool = False
    ) -> tuple[ServerState, DeviceOutcome, ByLane | None, ClientsKept | None]:
        """Adds updates up in order and makes the server's step.

        Args:
            state: State before the round.
            arrived: Updates that enter.
            kept: Updates under way.
            by_client: Whether to return the loss of each client; not to be traced.

        Returns:
            See `FusedRound.__call__`; shapes are `[m, 1]`, not `[waves, lanes]`.
        """
        model, unravel = ravel_pytree(state.weights)
        rules, clients = self.fused.client_rules(
            state,
            arrived.learning_rate,
            arrived.memory_inputs,
            arrived.steps,
            rates=arrived.rates,
            weights=arrived.weight[:, None],
        )

        def one(i: Any, so_far: Summed) -> Summed:
            slot = arrived.slot[i]
            update, loss, count = (
                jnp.where(slot < 0, 0, values[jnp.maximum(slot, 0)])[None] for values in kept
            )
            if self.fused.aggregation.mixes_models:
                update = update - model
            sent, factor = update, None
            trained = Trained((), optimizer=(), loss=loss, count=count)
            if rules is not None and so_far.clients is not None:
                # As gradients: at this round's rate, like the updates that are remembered.
                at_rate = update * (arrived.learning_rate / arrived.rates[i])
                sent, factor = rules.sent(i, so_far.clients, at_rate, trained)
            return with_wave(
                so_far,
                i,
                rules=rules,
                delta=update,
                sent=sent,
                factor=factor,
                trained=trained,
                times=arrived.times[i][None],
                weight=arrived.weight[i][None],
                steps=arrived.steps[i],
            )

        begin = summed_nothing(model, arrived.steps.shape, by_client, clients)
        totals, by_lane, clients, _ = lax.fori_loop(0, arrived.number, one, begin)
        if rules is None:
            totals = totals._replace(update=unravel(totals.update))
        state, outcome, clients = self.fused.finish(
            state,
            totals,
            arrived.num_clients,
            learning_rate=arrived.learning_rate,
            memory_inputs=arrived.memory_inputs,
            clients=clients,
            step=arrived.step,
        )
        return state, outcome, by_lane, clients


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

    def reserve(self, cohort: LateCohort) -> None:
        """Makes room for the updates that start in a round.

        Raises:
            ParameterError: If the device has no room.
        """
        rows, needed = len(self.kept.loss), int(cohort.slots.max(initial=-1)) + 1
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
    cohort: LateCohort,
    *,
    work: LocalTraining,
    sizes: np.ndarray,
    optimizer: Optimizer,
    round_number: int,
) -> tuple[Arrived, np.ndarray, np.ndarray]:
    """Packs the updates that enter in a round, in the order of their slots.

    A client of the cohort that is drawn twice has two places and one update.

    Args:
        cohort: Clients whose updates enter, with weights, slots, and rounds in which they were
            asked.
        work: Local training of a client.
        sizes: Training examples of each client, `int [N]`.
        optimizer: Optimizer of the local steps.
        round_number: Round t.

    Returns:
        The updates, without a memory's inputs; the (first) place of each in the cohort; and its
        client. Both are -1 for padding, `int32 [m, 1]`.
    """
    slots, place, which, times = np.unique(
        cohort.entering, return_index=True, return_inverse=True, return_counts=True
    )
    number = len(slots)
    most = round_up(number, _FEWEST)
    ids = cohort.ids[place].astype(np.int64)
    rates = [optimizer.rate(int(t)) for t in cohort.asked_in[place]]

    def padded(values: Any, dtype: Any, pad: int = 0) -> np.ndarray:
        found = np.full(most, pad, dtype)
        found[:number] = values
        return found

    arrived = Arrived(
        number=np.int32(number),
        slot=padded(slots, np.int32),
        weight=padded(np.bincount(which.reshape(-1), cohort.weights, number), np.float32),
        times=padded(times, np.float32),
        steps=padded(work.num_batches(sizes[ids]), np.int32)[:, None],
        rates=padded(rates, np.float32, 1)[:, None],
        num_clients=np.float32(len(cohort)),
        learning_rate=np.float32(optimizer.rate(round_number)),
        step=np.float32(cohort.step),
        memory_inputs=None,
    )
    return arrived, padded(place, np.int32, -1)[:, None], padded(ids, np.int32, -1)[:, None]
