"""A whole round as one pure function for XLA: clients train, and the server steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.flatten_util import ravel_pytree

from f3ast_tff.core.preprocessing import Preprocessing
from f3ast_tff.engines.jax import one_kernel
from f3ast_tff.engines.jax.client_round import ClientRound
from f3ast_tff.engines.jax.local_sgd import Batches, LocalSgd, LocalStart, Trained
from f3ast_tff.engines.jax.optimizers import JaxOptimizer, Tree
from f3ast_tff.engines.jax.packing import PackedWork, Waves
from f3ast_tff.engines.jax.server_step import (
    ClientsKept,
    DeviceOutcome,
    ServerState,
    ServerStep,
    Totals,
)
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.memory import RoundContext
from f3ast_tff.models import Model

_map = jax.tree_util.tree_map


class ByLane(NamedTuple):
    """Results per client; an empty tuple unless asked for.

    Attributes:
        loss: Mean loss of the client's batches, `[waves, lanes]`.
        finite: Whether the client's update is finite, `[waves, lanes]`.
    """

    loss: Any = ()
    finite: Any = ()


class Remembered(NamedTuple):
    """Extra inputs of a round with a memory.

    Attributes:
        kept: `Memory.vectors` and `Memory.numbers` of each lane's client, each `[waves, lanes,
            num_weights]` or `[waves, lanes]`; empty if only the server has a memory.
        share: p_k of each lane's client, `[waves, lanes]`.
        round_number: Round t.
        num_clients: Number of clients with p_k above 0.
    """

    kept: dict[str, Any]
    share: Any
    round_number: Any
    num_clients: Any


class RoundInputs(NamedTuple):
    """Inputs of a round's local training.

    Attributes:
        features: Training features of all clients, `[n, ...]`.
        labels: Training labels of all clients, `[n]`.
        work: Steps of the clients that train, a whole cohort or a part.
        learning_rate: Rate of the clients; used if it changes from round to round.
        remembered: Inputs of a memory, if any.
    """

    features: Any
    labels: Any
    work: PackedWork
    learning_rate: Any
    remembered: Remembered | None = None


@dataclass(frozen=True)
class FusedRound:
    """The round of one composition.

    Attributes:
        model: The network.
        preprocessing: Function from features to model input.
        client: Optimizer of the local steps.
        server: Optimizer of the step along the aggregate.
        aggregation: Rule from the weighted updates to the aggregate.
        form: Layout of the waves.
        in_one_kernel: Whether the clients of a cohort train in one kernel; with a memory of clients
            or late updates, in one kernel per client. See `one_kernel`.
    """

    model: Model
    preprocessing: Preprocessing
    client: JaxOptimizer
    server: JaxOptimizer
    aggregation: Aggregation
    form: Waves
    in_one_kernel: bool = False

    def __call__(
        self, state: ServerState, inputs: RoundInputs, num_clients: Any, by_client: bool = False
    ) -> tuple[ServerState, DeviceOutcome, ByLane, ClientsKept | None]:
        """Executes a round: `train`, then `finish`; see both."""
        totals, by_lane, clients = self.train(state, inputs, by_client)
        state, outcome, clients = self.finish(
            state,
            totals,
            num_clients=num_clients,
            learning_rate=inputs.learning_rate,
            remembered=inputs.remembered,
            clients=clients,
        )
        return state, outcome, by_lane, clients

    def train(
        self, state: ServerState, inputs: RoundInputs, by_client: bool = False
    ) -> tuple[Totals, ByLane, ClientsKept | None]:
        """Trains the clients of a cohort or of a part of it.

        Args:
            state: State before the round; the optimizer's state is not used.
            inputs: Data, steps and learning rate.
            by_client: Whether to return the loss of each client; not to be traced.

        Returns:
            Sums over these clients, results per client, and the memory of the clients.
        """
        work, remembered = inputs.work, inputs.remembered
        steps, times = work.steps, work.times
        memory = self.aggregation.memory
        together = self.in_one_kernel and (memory is None or not memory.by_client)
        train_wave = self.wave_training(inputs, each_in_one_kernel=not together)
        by_memory, clients = None, None
        if memory is not None and remembered is not None and memory.by_client:
            now = self.now(state, inputs.learning_rate, remembered)
            by_memory = ClientRound(memory, state, now, remembered.share, steps)
            unsent = jnp.zeros(steps.shape, bool)
            clients = ClientsKept(remembered.kept, unsent, state.memory)

        def wave(w: Any, so_far: Any) -> Any:
            totals, by_lane, clients = so_far
            if by_memory is None:
                trained = train_wave(w, LocalStart(state.weights))
                delta = _map(jnp.subtract, trained.weights, state.weights)
                finite = finite_lanes(delta, times[w])
                sent = delta
            else:
                trained, delta, sent = by_memory.train(w, clients, partial(train_wave, w))
                finite = finite_lanes(delta, times[w])
                clients = by_memory.note(w, clients, delta, finite)
            own = ByLane()
            if by_client:
                own = ByLane(trained.loss / trained.count, finite)
            by_lane = _map(lambda kept, of_wave: kept.at[w].set(of_wave), by_lane, own)
            totals = with_updates(
                totals, sent, trained, finite=finite, times=times[w], weight=work.weight[w]
            )
            return totals, by_lane, clients

        def all_waves() -> tuple[Totals, ByLane, ClientsKept | None]:
            like = state.weights if by_memory is None else by_memory.now.model
            if memory is not None and memory.echo_clip is not None:
                like = jnp.concatenate([like, like])
            totals = Totals(
                update=_map(jnp.zeros_like, like),
                weight=jnp.float32(work.idle_weight),
                finite=jnp.float32(work.num_idle),
                loss=jnp.float32(0),
                count=jnp.float32(0),
            )
            by_lane = ByLane()
            if by_client:
                by_lane = ByLane(jnp.zeros(steps.shape), jnp.zeros(steps.shape, bool))
            done: tuple[Totals, ByLane, ClientsKept | None]
            done = self.over_waves(work, wave, (totals, by_lane, clients))
            return done

        return one_kernel.called(all_waves) if together else all_waves()

    def wave_training(
        self, inputs: RoundInputs, each_in_one_kernel: bool = True
    ) -> Callable[[Any, LocalStart], Trained]:
        """Returns the local training of a wave, as a function of its number.

        Args:
            inputs: Data, steps and learning rate.
            each_in_one_kernel: Whether each client may train in a separate kernel.
        """
        work = inputs.work
        rate = inputs.learning_rate if self.client.decays else self.client.learning_rate
        batches = Batches(work.rows, work.draws, inputs.features, inputs.labels)
        memory = self.aggregation.memory
        sgd = LocalSgd(
            model=self.model,
            preprocessing=self.preprocessing,
            optimizer=self.client,
            equal_steps=self.form.equal_steps,
            keeps_previous=memory is not None and memory.last_step,
            in_one_kernel=self.in_one_kernel and each_in_one_kernel,
        )
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

    def finish(
        self,
        state: ServerState,
        totals: Totals,
        *,
        num_clients: Any,
        learning_rate: Any,
        remembered: Remembered | None = None,
        clients: ClientsKept | None = None,
        step: Any = None,
    ) -> tuple[ServerState, DeviceOutcome, ClientsKept | None]:
        """Makes the server's step along the totals of a whole cohort; see `ServerStep`."""
        now = None if remembered is None else self.now(state, learning_rate, remembered)
        return ServerStep(self.server, self.aggregation)(
            state,
            totals,
            num_clients,
            now=now,
            clients=clients,
            share=None if remembered is None else remembered.share,
            step=step,
        )

    @staticmethod
    def now(state: ServerState, learning_rate: Any, remembered: Remembered) -> RoundContext:
        """Returns the values common to all clients of a round with a memory."""
        model = ravel_pytree(state.weights)[0]
        return RoundContext(
            xp=jnp,
            round_number=remembered.round_number,
            learning_rate=learning_rate,
            model=model,
            num_clients=remembered.num_clients,
        )


def finite_lanes(delta: Tree, times: Any) -> Any:
    """Returns whether each lane's update is finite; `False` for an empty lane."""
    finite = times > 0
    for leaf in jax.tree_util.tree_leaves(delta):
        finite &= jnp.all(jnp.isfinite(leaf), axis=tuple(range(1, leaf.ndim)))
    return finite


def with_updates(
    totals: Totals, delta: Tree, trained: Trained, *, finite: Any, times: Any, weight: Any
) -> Totals:
    """Returns sums with the updates of a wave.

    Args:
        totals: The sums so far.
        delta: Update of each lane, with a leading axis.
        trained: Loss and examples of each lane.
        finite: Whether each update counts, `bool [lanes]`.
        times: Number of times that each update counts, `float [lanes]`.
        weight: Weight of each update over all times, `float [lanes]`.
    """
    # A select, because a product 0 * NaN would be NaN.
    delta = _map(lambda d: jnp.where(_as_lanes(finite, d), d, jnp.zeros_like(d)), delta)
    weight, times = jnp.where(finite, weight, 0.0), jnp.where(finite, times, 0.0)
    update = _map(lambda total, d: total + jnp.tensordot(weight, d, axes=1), totals.update, delta)
    return Totals(
        update=update,
        weight=totals.weight + jnp.sum(weight),
        finite=totals.finite + jnp.sum(times),
        loss=totals.loss + jnp.sum(jnp.where(finite, trained.loss, 0.0) * times),
        count=totals.count + jnp.sum(jnp.where(finite, trained.count, 0.0) * times),
    )


def _as_lanes(by_lane: Any, leaf: Any) -> Any:
    return by_lane.reshape(by_lane.shape + (1,) * (leaf.ndim - 1))
