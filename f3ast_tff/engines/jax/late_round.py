"""A round with late updates, in two programs for XLA: clients train; updates enter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.flatten_util import ravel_pytree

from f3ast_tff.engines.jax.client_round import ClientRound
from f3ast_tff.engines.jax.local_sgd import LocalStart, Trained
from f3ast_tff.engines.jax.round import (
    ByLane,
    FusedRound,
    Remembered,
    RoundInputs,
    finite_lanes,
    with_updates,
)
from f3ast_tff.engines.jax.server_step import ClientsKept, DeviceOutcome, ServerState, Totals


class LateUpdates(NamedTuple):
    """Updates under way, one row per slot; rows of free slots have no meaning.

    Attributes:
        update: D_k, `float32 [slots, num_weights]`.
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
        slot: Slot of each update, `int32 [m]`.
        weight: Weight of each update, summed over its places in the cohort, `float32 [m]`.
        times: Number of its places in the cohort, `float32 [m]`.
        client: Client of each update, -1 for padding, `int32 [m, 1]`.
        steps: Local steps of each client, `int32 [m, 1]`.
        rates: Client learning rate of the round in which the client was asked, `float32 [m, 1]`.
        num_clients: Number of places in the cohort.
        learning_rate: Client learning rate of this round.
        step: Factor of the server's learning rate.
        remembered: Extra inputs of a memory, if any; of shape `[m, 1]`, not `[waves, lanes]`.
    """

    number: Any
    slot: Any
    weight: Any
    times: Any
    client: Any
    steps: Any
    rates: Any
    num_clients: Any
    learning_rate: Any
    step: Any
    remembered: Remembered | None


@dataclass(frozen=True)
class LateRound:
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
        # Rows beyond the end are dropped.
        slots = jnp.where(slots < 0, len(kept.loss), slots)

        def wave(w: Any, kept: LateUpdates) -> LateUpdates:
            trained = train_wave(w, LocalStart(state.weights))
            after = jax.vmap(lambda weights: ravel_pytree(weights)[0])(trained.weights)
            found = LateUpdates(after - model, trained.loss, trained.count)
            return LateUpdates(
                *(old.at[slots[w]].set(new, mode="drop") for old, new in zip(kept, found))
            )

        done: LateUpdates = self.fused.over_waves(inputs.work, wave, kept)
        return done

    def enter(
        self, state: ServerState, arrived: Arrived, kept: LateUpdates, by_client: bool = False
    ) -> tuple[ServerState, DeviceOutcome, ByLane, ClientsKept | None]:
        """Adds updates up in order and makes the server's step.

        Args:
            state: State before the round.
            arrived: Updates that enter.
            kept: Updates under way.
            by_client: Whether to return the loss of each client; not to be traced.

        Returns:
            See `FusedRound.__call__`; shapes are `[m, 1]`, not `[waves, lanes]`.
        """
        memory, remembered = self.fused.aggregation.memory, arrived.remembered
        model, unravel = ravel_pytree(state.weights)
        rules, clients = None, None
        if memory is not None and memory.by_client and remembered is not None:
            now = self.fused.now(state, arrived.learning_rate, remembered)
            share, steps, rates = remembered.share, arrived.steps, arrived.rates
            rules = ClientRound(memory, state, now, share, steps, rates)
            unsent = jnp.zeros(arrived.client.shape, bool)
            clients = ClientsKept(remembered.kept, unsent, state.memory)

        def one(i: Any, so_far: Any) -> Any:
            totals, by_lane, clients = so_far
            delta = kept.update[arrived.slot[i]][None]
            loss, count = kept.loss[arrived.slot[i]][None], kept.count[arrived.slot[i]][None]
            times, weight = arrived.times[i][None], arrived.weight[i][None]
            finite = finite_lanes(delta, times)
            sent = delta
            if rules is not None:
                sent = rules.sent(i, clients, delta)
                clients = rules.note(i, clients, delta, finite)
            if by_client:
                by_lane = ByLane(
                    by_lane.loss.at[i].set(loss / count), by_lane.finite.at[i].set(finite)
                )
            trained = Trained((), optimizer=(), loss=loss, count=count)
            totals = with_updates(totals, sent, trained, finite=finite, times=times, weight=weight)
            return totals, by_lane, clients

        none = jnp.float32(0)
        totals = Totals(jnp.zeros_like(model), none, none, none, none)
        by_lane, shape = ByLane(), arrived.client.shape
        if by_client:
            by_lane = ByLane(jnp.zeros(shape), jnp.zeros(shape, bool))
        begin = (totals, by_lane, clients)
        totals, by_lane, clients = lax.fori_loop(0, arrived.number, one, begin)
        if rules is None:
            totals = totals._replace(update=unravel(totals.update))
        state, outcome, clients = self.fused.finish(
            state,
            totals,
            num_clients=arrived.num_clients,
            learning_rate=arrived.learning_rate,
            remembered=remembered,
            clients=clients,
            step=arrived.step,
        )
        return state, outcome, by_lane, clients
