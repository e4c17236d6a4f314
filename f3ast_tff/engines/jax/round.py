"""A whole round as one pure function for XLA: clients train, and the server steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.flatten_util import ravel_pytree

from f3ast_tff.engines.jax.local_sgd import Batches, LocalSgd, LocalStart, Trained
from f3ast_tff.engines.jax.optimizers import JaxOptimizer, Tree
from f3ast_tff.engines.jax.packing import PackedWork, Waves
from f3ast_tff.engines.jax.server_step import (
    ClientsKept,
    ClientSums,
    DeviceOutcome,
    MemoryInputs,
    ServerState,
    ServerStep,
)
from f3ast_tff.methods.parts.aggregation import Aggregation

if TYPE_CHECKING:
    from f3ast_tff.engines.jax.client_round import ClientRound

_map = jax.tree_util.tree_map


class ByLane(NamedTuple):
    """Results per client.

    Attributes:
        loss: Mean loss of the client's batches, `[waves, lanes]`.
        finite: Whether the client's update is finite, `[waves, lanes]`.
    """

    loss: Any
    finite: Any


class Stack(NamedTuple):
    """What the clients of a cohort sent; zeros where a lane's client does not count.

    Attributes:
        updates: `float32 [waves, lanes, num_weights]`.
        weights: `float32 [waves, lanes]`.
    """

    updates: Any
    weights: Any


class Summed(NamedTuple):
    """Sums over the clients of a cohort so far.

    Attributes:
        totals: The sums.
        by_lane: Results per client, if asked for.
        clients: Memory of the clients, if any.
        stack: What each client sent, if an aggregation `stacks`.
    """

    totals: ClientSums
    by_lane: ByLane | None
    clients: ClientsKept | None
    stack: Stack | None = None


class RoundInputs(NamedTuple):
    """Inputs of a round's local training.

    Attributes:
        features: Training features of all clients, `[n, ...]`.
        labels: Training labels of all clients, `[n]`.
        work: Steps of the clients that train, a whole cohort or a part.
        learning_rate: Rate of the clients; used if it changes from round to round.
        memory_inputs: Inputs of a memory, if any.
    """

    features: Any
    labels: Any
    work: PackedWork
    learning_rate: Any
    memory_inputs: MemoryInputs | None = None


@dataclass(frozen=True)
class FusedRound:
    """The round of one composition.

    Attributes:
        sgd: Local training.
        server: Optimizer of the step along the aggregate.
        aggregation: Rule from the weighted updates to the aggregate.
        form: Layout of the waves.
    """

    sgd: LocalSgd
    server: JaxOptimizer
    aggregation: Aggregation
    form: Waves

    def __call__(
        self, state: ServerState, inputs: RoundInputs, num_clients: Any, by_client: bool = False
    ) -> tuple[ServerState, DeviceOutcome, ByLane | None, ClientsKept | None]:
        """Executes a round: `train`, then `finish`; see both."""
        totals, by_lane, clients, _ = self.train(state, inputs, by_client)
        state, outcome, clients = self.finish(
            state,
            totals,
            num_clients,
            learning_rate=inputs.learning_rate,
            memory_inputs=inputs.memory_inputs,
            clients=clients,
        )
        return state, outcome, by_lane, clients

    @property
    def finish(self) -> ServerStep:
        """The server's step along the totals of a whole cohort."""
        return ServerStep(self.server, self.aggregation, self.sgd.buffers)

    def train(self, state: ServerState, inputs: RoundInputs, by_client: bool = False) -> Summed:
        """Trains the clients of a cohort or of a part of it, and sums up.

        Args:
            state: State before the round; the optimizer's state is not used.
            inputs: Data, steps and learning rate.
            by_client: Whether to return the loss of each client; not to be traced.
        """
        work, memory = inputs.work, self.aggregation.memory
        train_wave = self.wave_training(inputs)
        rules, clients = self.client_rules(
            state, inputs.learning_rate, inputs.memory_inputs, work.steps, weights=work.weight
        )

        def wave(w: Any, so_far: Summed) -> Summed:
            if rules is None or so_far.clients is None:
                trained, factor = train_wave(w, LocalStart(state.weights)), None
                delta = sent = _map(jnp.subtract, trained.weights, state.weights)
            else:
                of_wave = rules.train(w, so_far.clients, partial(train_wave, w))
                trained, delta, sent, factor = of_wave
            return with_wave(
                so_far,
                w,
                rules=rules,
                delta=delta,
                sent=sent,
                factor=factor,
                trained=trained,
                times=work.times[w],
                weight=work.weight[w],
                steps=work.steps[w],
            )

        update = state.weights if rules is None else rules.now.model
        if memory is not None and memory.echo_clip is not None:
            update = jnp.concatenate([update, update])
        idle = jnp.float32(work.num_idle), jnp.float32(work.idle_weight)
        begin = summed_nothing(update, work.steps.shape, by_client, clients, idle)
        if self.aggregation.stacks:
            size = sum(leaf.size for leaf in jax.tree_util.tree_leaves(update))
            shape = work.steps.shape
            begin = begin._replace(stack=Stack(jnp.zeros((*shape, size)), jnp.zeros(shape)))
        done: Summed = self.over_waves(work, wave, begin)
        return done

    def client_rules(
        self,
        state: ServerState,
        learning_rate: Any,
        memory_inputs: MemoryInputs | None,
        steps: Any,
        rates: Any = None,
        weights: Any = None,
    ) -> tuple[ClientRound | None, ClientsKept | None]:
        """Returns the rules of a memory of clients, if any, and the clients' memory before a round.

        Args:
            state: State before the round.
            learning_rate: Client learning rate of the round.
            memory_inputs: Inputs of the memory.
            steps: Local steps of each lane's client, `[waves, lanes]`.
            rates: See `ClientRound`.
            weights: See `ClientRound`.
        """
        memory = self.aggregation.memory
        if memory is None or memory_inputs is None or not memory.by_client:
            return None, None
        from f3ast_tff.engines.jax.client_round import ClientRound

        now = self.finish.context(state, learning_rate, memory_inputs)
        rules = ClientRound(memory, state, now, memory_inputs, steps, rates, weights)
        unsent = jnp.zeros(steps.shape, bool)
        return rules, ClientsKept(memory_inputs.kept, unsent, state.memory)

    def wave_training(self, inputs: RoundInputs) -> Callable[[Any, LocalStart], Trained]:
        """Returns the local training of a wave, as a function of its number."""
        work, sgd = inputs.work, self.sgd
        constant = sgd.optimizer.learning_rate
        rate = inputs.learning_rate if sgd.optimizer.decays else constant
        batches = Batches(work.rows, work.draws, inputs.features, inputs.labels)
        bound = None if self.form.steps is None else work.rows.shape[0] // len(work.steps)

        def train_wave(w: Any, start: LocalStart) -> Trained:
            return sgd.wave(
                start, batches, rate=rate, first=work.first[w], steps=work.steps[w], bound=bound
            )

        return train_wave

    def over_waves(self, work: PackedWork, wave: Callable[[Any, Any], Any], begin: Any) -> Any:
        """Returns `wave(w, ... wave(1, wave(0, begin)))`, over all waves of a round."""
        bounded, most = self.form.steps is not None, len(work.steps)
        if bounded and most == 1:
            return wave(0, begin)
        return lax.fori_loop(0, most if bounded else work.num_waves, wave, begin)


def summed_nothing(
    update: Tree,
    shape: tuple[int, ...],
    by_client: bool,
    clients: ClientsKept | None,
    idle: tuple[Any, Any] | None = None,
) -> Summed:
    """Returns the sums before the first client.

    Args:
        update: An array or tree in the form of a summed update.
        shape: Shape of results per client.
        by_client: Whether to collect results per client.
        clients: Memory of the clients.
        idle: Number and total weight of clients without any step, if they have no lane.
    """
    none = jnp.float32(0)
    num_idle, idle_weight = (none, none) if idle is None else idle
    totals = ClientSums(_map(jnp.zeros_like, update), idle_weight, num_idle, none, none, none)
    by_lane = ByLane(jnp.zeros(shape), jnp.zeros(shape, bool)) if by_client else None
    return Summed(totals, by_lane, clients)


def with_wave(
    so_far: Summed,
    w: Any,
    *,
    rules: ClientRound | None,
    delta: Tree,
    sent: Tree,
    factor: Any,
    trained: Trained,
    times: Any,
    weight: Any,
    steps: Any,
) -> Summed:
    """Returns sums with the updates of wave w.

    Args:
        so_far: The sums so far.
        w: Number of the wave.
        rules: Rules of a memory of clients, if any.
        delta: Update D_k of each lane, with a leading axis.
        sent: Contribution of each lane, of which the weighted sum is taken.
        factor: Factor of each lane's weight, `float [lanes]`, if its message has one.
        trained: Loss and examples of each lane.
        times: Number of times that each update counts, `float [lanes]`; 0 for an empty lane.
        weight: Weight of each update over all times, `float [lanes]`.
        steps: Local steps of each lane's client, `int [lanes]`.
    """
    totals, by_lane, clients, stack = so_far
    finite = times > 0
    if factor is not None:
        weight, delta_and_message = weight * factor, (delta, sent, factor)
    else:
        delta_and_message = delta
    for leaf in jax.tree_util.tree_leaves(delta_and_message):
        finite &= jnp.all(jnp.isfinite(leaf), axis=tuple(range(1, leaf.ndim)))
    if rules is not None and clients is not None:
        clients = rules.note(w, clients, delta, finite)
    if by_lane is not None:
        own = ByLane(trained.loss / trained.count, finite)
        by_lane = _map(lambda kept, of_wave: kept.at[w].set(of_wave), by_lane, own)
    # Selects, because a product 0 * NaN would be NaN.
    sent = _map(lambda d: jnp.where(_as_lanes(finite, d), d, jnp.zeros_like(d)), sent)
    weight, times = jnp.where(finite, weight, 0.0), jnp.where(finite, times, 0.0)
    update = _map(lambda total, d: total + jnp.tensordot(weight, d, axes=1), totals.update, sent)
    totals = ClientSums(
        update=update,
        weight=totals.weight + jnp.sum(weight),
        finite=totals.finite + jnp.sum(times),
        loss=totals.loss + jnp.sum(jnp.where(finite, trained.loss, 0.0) * times),
        count=totals.count + jnp.sum(jnp.where(finite, trained.count, 0.0) * times),
        steps=totals.steps + jnp.sum(weight * steps),
    )
    if stack is not None:
        rows = jax.vmap(lambda leaves: ravel_pytree(leaves)[0])(sent)
        stack = Stack(stack.updates.at[w].set(rows), stack.weights.at[w].set(weight))
    return Summed(totals, by_lane, clients, stack)


def _as_lanes(by_lane: Any, leaf: Any) -> Any:
    return by_lane.reshape(by_lane.shape + (1,) * (leaf.ndim - 1))
