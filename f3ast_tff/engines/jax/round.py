"""A whole round as one pure function for XLA: clients train, and the server steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.flatten_util import ravel_pytree

from f3ast_tff.engines.jax.client_round import ClientRound
from f3ast_tff.engines.jax.local_sgd import Batches, LocalSgd, Trained
from f3ast_tff.engines.jax.optimizers import JaxOptimizer, Tree
from f3ast_tff.engines.jax.server_step import (
    ClientsKept,
    DeviceOutcome,
    ServerState,
    ServerStep,
    Totals,
)
from f3ast_tff.engines.jax.waves import Waves
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.memory import RoundContext
from f3ast_tff.models import Model
from f3ast_tff.preprocessing import Preprocessing

_map = jax.tree_util.tree_map


class ByLane(NamedTuple):
    """What came back from each client; an empty tuple where it was not asked for.

    Attributes:
        loss: Mean loss of the batches that it trained on, `[waves, lanes]`.
        finite: Whether its update is, `[waves, lanes]`.
    """

    loss: Any = ()
    finite: Any = ()


class Remembered(NamedTuple):
    """What a round with a memory takes beside the others.

    Attributes:
        kept: `Memory.vectors` and `Memory.numbers` of each lane's client, each `[waves, lanes,
            num_weights]` or `[waves, lanes]`; empty for a memory of the server alone.
        share: p_k of each lane's client, `[waves, lanes]`.
        round_number: Round t.
        num_clients: Clients with p_k above 0.
    """

    kept: dict[str, Any]
    share: Any
    round_number: Any
    num_clients: Any


@dataclass(frozen=True)
class FusedRound:
    """The round of one composition.

    Attributes:
        model: The network.
        preprocessing: From features to what it reads.
        client: Optimizer of the local steps.
        server: Optimizer of the step along the aggregate.
        aggregation: From the weighted updates to the aggregate.
        form: Of the waves.
    """

    model: Model
    preprocessing: Preprocessing
    client: JaxOptimizer
    server: JaxOptimizer
    aggregation: Aggregation
    form: Waves

    def __call__(
        self,
        state: ServerState,
        features: Any,
        labels: Any,
        packed: Any,
        num_clients: Any,
        learning_rate: Any,
        remembered: Remembered | None = None,
        by_client: bool = False,
    ) -> tuple[ServerState, DeviceOutcome, ByLane, ClientsKept | None]:
        """Executes a round: `train`, then `finish`; see both."""
        work = (features, labels, packed, learning_rate)
        totals, by_lane, clients = self.train(state, *work, remembered, by_client)
        rest = (num_clients, learning_rate, remembered, clients)
        state, outcome, clients = self.finish(state, totals, *rest)
        return state, outcome, by_lane, clients

    def train(
        self,
        state: ServerState,
        features: Any,
        labels: Any,
        packed: Any,
        learning_rate: Any,
        remembered: Remembered | None = None,
        by_client: bool = False,
    ) -> tuple[Totals, ByLane, ClientsKept | None]:
        """Trains clients, all of a cohort or some.

        Args:
            state: Before the round; of the optimizer nothing is read.
            features: Training features of all clients, `[n, ...]`.
            labels: Their labels, `[n]`.
            packed: What is `PackedWork.on_device`.
            learning_rate: Of the clients; read if it changes from round to round.
            remembered: With a memory of clients.
            by_client: Whether to return the loss of each client; not to be traced.

        Returns:
            The sums over these clients, what came back from each, and what is kept of each.
        """
        rate = learning_rate if self.client.decays else self.client.learning_rate
        rows, draws, first, steps, times, weight, num_waves, num_idle, idle_weight = packed
        batches = Batches(rows, draws, features, labels)
        sgd = LocalSgd(self.model, self.preprocessing, self.client, self.form.equal_steps)
        bounded = self.form.steps is not None
        bound = rows.shape[0] // len(steps) if bounded else None
        by_memory, clients = None, None
        memory = self.aggregation.memory
        if memory is not None and remembered is not None and memory.by_client:
            now = self._now(state, learning_rate, remembered)
            by_memory = ClientRound(memory, state, now, remembered.share, steps)
            unsent = jnp.zeros(steps.shape, bool)
            clients = ClientsKept(remembered.kept, unsent, state.memory)

        def wave(w: Any, so_far: Any) -> Any:
            totals, by_lane, clients = so_far

            def train_wave(start: Tree, offset: Tree, by_lane: tuple[bool, bool]) -> Trained:
                return sgd.wave(start, offset, by_lane, rate, first[w], steps[w], batches, bound)

            if by_memory is None:
                trained = train_wave(state.weights, (), (False, False))
                delta = _map(jnp.subtract, trained.weights, state.weights)
                finite = _finite_lanes(delta, times[w])
                sent = delta
            else:
                trained, delta, sent = by_memory.train(w, clients, train_wave)
                finite = _finite_lanes(delta, times[w])
                clients = by_memory.note(w, clients, delta, finite)
            own = ByLane()
            if by_client:
                own = ByLane(trained.loss / trained.count, finite)
            by_lane = _map(lambda kept, of_wave: kept.at[w].set(of_wave), by_lane, own)
            of_wave = (times[w], weight[w], trained.loss, trained.count)
            return _add(totals, sent, finite, *of_wave), by_lane, clients

        idle = (jnp.float32(idle_weight), jnp.float32(num_idle))
        nothing = (jnp.float32(0), jnp.float32(0))
        like = state.weights if by_memory is None else by_memory.now.model
        if memory is not None and memory.echo_clip is not None:
            like = jnp.concatenate([like, like])
        totals = Totals(_map(jnp.zeros_like, like), *idle, *nothing)
        by_lane = ByLane()
        if by_client:
            by_lane = ByLane(jnp.zeros(steps.shape), jnp.zeros(steps.shape, bool))
        begin = (totals, by_lane, clients)
        if bounded and len(steps) == 1:
            return wave(0, begin)
        return lax.fori_loop(0, len(steps) if bounded else num_waves, wave, begin)

    def finish(
        self,
        state: ServerState,
        totals: Totals,
        num_clients: Any,
        learning_rate: Any,
        remembered: Remembered | None = None,
        clients: ClientsKept | None = None,
    ) -> tuple[ServerState, DeviceOutcome, ClientsKept | None]:
        """Makes the server's step along the totals of a whole cohort; see `ServerStep`."""
        now = None if remembered is None else self._now(state, learning_rate, remembered)
        step = ServerStep(self.server, self.aggregation)
        share = None if remembered is None else remembered.share
        return step(state, totals, num_clients, now, clients, share)

    @staticmethod
    def _now(state: ServerState, learning_rate: Any, remembered: Remembered) -> RoundContext:
        model = ravel_pytree(state.weights)[0]
        return RoundContext(
            jnp, remembered.round_number, learning_rate, model, remembered.num_clients
        )


def _finite_lanes(delta: Tree, times: Any) -> Any:
    """Whether each lane's update is finite; `False` where there is no client."""
    finite = times > 0
    for leaf in jax.tree_util.tree_leaves(delta):
        finite &= jnp.all(jnp.isfinite(leaf), axis=tuple(range(1, leaf.ndim)))
    return finite


def _add(
    totals: Totals, delta: Tree, finite: Any, times: Any, weight: Any, loss: Any, count: Any
) -> Totals:
    # A select, not a product: 0 * NaN would be NaN.
    delta = _map(lambda d: jnp.where(_as_lanes(finite, d), d, jnp.zeros_like(d)), delta)
    weight, times = jnp.where(finite, weight, 0.0), jnp.where(finite, times, 0.0)
    update = _map(lambda total, d: total + jnp.tensordot(weight, d, axes=1), totals.update, delta)
    return Totals(
        update,
        totals.weight + jnp.sum(weight),
        totals.finite + jnp.sum(times),
        totals.loss + jnp.sum(jnp.where(finite, loss, 0.0) * times),
        totals.count + jnp.sum(jnp.where(finite, count, 0.0) * times),
    )


def _as_lanes(by_lane: Any, leaf: Any) -> Any:
    return by_lane.reshape(by_lane.shape + (1,) * (leaf.ndim - 1))
