"""A whole round as one pure function for XLA: local SGD, aggregate, server optimizer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from f3ast_tff.aggregation.aggregation import Aggregation
from f3ast_tff.engines.jax.cross_entropy import label_sums
from f3ast_tff.engines.jax.optimizers import JaxOptimizer, Tree
from f3ast_tff.models import Model
from f3ast_tff.preprocessing import Preprocessing

_map = jax.tree_util.tree_map


class ServerState(NamedTuple):
    """The model and the state of its server optimizer."""

    weights: Tree
    optimizer: Tree


class DeviceOutcome(NamedTuple):
    """`RoundOutcome`, still on the device, each a scalar."""

    train_loss: Any
    update_norm: Any
    num_dropped: Any
    rejected: Any


class _Local(NamedTuple):
    """A client as it trains, or, with a leading axis, those of a wave."""

    weights: Tree
    optimizer: Tree
    loss: Any
    count: Any


class Totals(NamedTuple):
    """Sums over clients, those whose update is finite; two of them add up."""

    update: Tree
    weight: Any
    finite: Any
    loss: Any
    count: Any


class ByLane(NamedTuple):
    """What came back from each client; an empty tuple where it was not asked for.

    Attributes:
        update: Each leaf `[waves, lanes, ...]`.
        loss: Mean loss of the batches that it trained on, `[waves, lanes]`.
        finite: Whether its update is, `[waves, lanes]`.
    """

    update: Tree = ()
    loss: Any = ()
    finite: Any = ()


@dataclass(frozen=True)
class FusedRound:
    """The round of one composition.

    Attributes:
        model: The network.
        preprocessing: From features to what it reads.
        client: Optimizer of the local steps.
        server: Optimizer of the step along the aggregate.
        aggregation: From the weighted updates to the aggregate.
        keeps_updates: Whether each client's update comes back, for a server with a memory.
    """

    model: Model
    preprocessing: Preprocessing
    client: JaxOptimizer
    server: JaxOptimizer
    aggregation: Aggregation
    keeps_updates: bool = False

    def __call__(
        self,
        state: ServerState,
        features: Any,
        labels: Any,
        packed: Any,
        num_clients: Any,
        learning_rate: Any,
        correction: Tree = (),
        by_client: bool = False,
    ) -> tuple[ServerState, DeviceOutcome, ByLane]:
        """Executes a round: `train`, then `finish`; see both."""
        work = (features, labels, packed, learning_rate)
        totals, by_lane = self.train(state.weights, *work, by_client)
        return (*self.finish(state, totals, num_clients, correction), by_lane)

    def train(
        self,
        weights: Tree,
        features: Any,
        labels: Any,
        packed: Any,
        learning_rate: Any,
        by_client: bool = False,
    ) -> tuple[Totals, ByLane]:
        """Trains clients, all of a cohort or some.

        Args:
            weights: The model.
            features: Training features of all clients, `[n, ...]`.
            labels: Their labels, `[n]`.
            packed: What is `PackedWork.on_device`.
            learning_rate: Of the clients; read if it decays.
            by_client: Whether to return the loss of each client; not to be traced.

        Returns:
            The sums over these clients, and what came back from each.
        """
        rate = learning_rate if self.client.decays else self.client.learning_rate
        rows, draws, first, steps, times, weight, num_waves, num_idle, idle_weight = packed

        def train(first: Any, steps: Any, rows: Any, draws: Any) -> _Local:
            batches = (first, steps, rows, draws, features, labels)
            return self._train_client(weights, rate, *batches)

        def wave(w: Any, so_far: tuple[Totals, ByLane]) -> tuple[Totals, ByLane]:
            totals, by_lane = so_far
            trained = self._train_wave(train, first[w], steps[w], rows, draws)
            delta = _map(jnp.subtract, trained.weights, weights)
            finite = _finite_lanes(delta, times[w])
            own = ByLane(
                delta if self.keeps_updates else (),
                trained.loss / trained.count if by_client else (),
                finite if by_client else (),
            )
            by_lane = _map(lambda kept, of_wave: kept.at[w].set(of_wave), by_lane, own)
            of_wave = (times[w], weight[w], trained.loss, trained.count)
            return _add(totals, delta, finite, *of_wave), by_lane

        idle = (jnp.float32(idle_weight), jnp.float32(num_idle))
        nothing = (jnp.float32(0), jnp.float32(0))
        totals = Totals(_map(jnp.zeros_like, weights), *idle, *nothing)
        by_lane = ByLane()
        if self.keeps_updates:
            zeros = _map(lambda v: jnp.zeros((*steps.shape, *v.shape), v.dtype), weights)
            by_lane = by_lane._replace(update=zeros)
        if by_client:
            empty = {"loss": jnp.zeros(steps.shape), "finite": jnp.zeros(steps.shape, bool)}
            by_lane = by_lane._replace(**empty)
        return lax.fori_loop(0, num_waves, wave, (totals, by_lane))

    @staticmethod
    def _train_wave(
        train: Callable[..., _Local], first: Any, steps: Any, rows: Any, draws: Any
    ) -> _Local:
        if rows.shape[1] > 1:
            return jax.vmap(train, in_axes=(None, 0, 1, 1))(first, steps, rows, draws)
        # Not a `vmap` over one: that would make batched products of all products.
        trained = train(first, steps[0], rows[:, 0], draws[:, 0])
        return _map(lambda leaf: leaf[None], trained)

    def _train_client(
        self,
        start: Tree,
        rate: Any,
        first: Any,
        steps: Any,
        rows: Any,
        draws: Any,
        features: Any,
        labels: Any,
    ) -> _Local:
        def body(t: Any, local: _Local) -> _Local:
            batch = (rows[first + t], draws[first + t], features, labels)
            before = (local.weights, local.optimizer)
            weights, optimizer, loss, count = self._step(*before, rate, *batch)
            return _Local(weights, optimizer, local.loss + loss, local.count + count)

        begin = _Local(start, self.client.init(start), jnp.float32(0), jnp.float32(0))
        return lax.fori_loop(0, steps, body, begin)

    def _step(
        self,
        weights: Tree,
        optimizer: Tree,
        rate: Any,
        rows: Any,
        draws: Any,
        features: Any,
        labels: Any,
    ) -> tuple[Tree, Tree, Any, Any]:
        here = rows >= 0
        present = jnp.maximum(rows, 0)
        x, y = self.preprocessing.in_jax(features[present], draws), labels[present]

        def objective(weights: Tree) -> tuple[Any, Any]:
            sums = label_sums(self.model.apply(weights, x), y)
            loss = jnp.sum(jnp.where(here, sums.loss, 0.0))
            loss /= jnp.maximum(jnp.sum(jnp.where(here, sums.count, 0.0)), 1.0)
            return loss + self.model.penalty(weights), loss

        gradients, loss = jax.grad(objective, has_aux=True)(weights)
        optimizer, weights = self.client.update(optimizer, weights, gradients, rate)
        num_examples = jnp.sum(here.astype(jnp.float32))
        return weights, optimizer, loss * num_examples, num_examples

    def finish(
        self, state: ServerState, totals: Totals, num_clients: Any, correction: Tree = ()
    ) -> tuple[ServerState, DeviceOutcome]:
        """Makes the server's step.

        Args:
            state: Model and server optimizer.
            totals: Of the whole cohort.
            num_clients: Clients that train, scalar.
            correction: Added to the aggregate, like the weights; read if it `keeps_updates`.

        Returns:
            The state after the round and what happened in it. Where no update is finite, or the
            aggregate is not, the state is as before.
        """
        delta = totals.update
        if self.aggregation.normalise:
            delta = _map(lambda d: d / totals.weight, delta)
        if self.keeps_updates:
            delta = _map(jnp.add, delta, correction)
        delta = self.aggregation.in_jax(delta)
        negative = _map(jnp.negative, delta)
        optimizer, weights = self.server.update(
            state.optimizer, state.weights, negative, self.server.learning_rate
        )
        accepted = (totals.finite > 0) & _all_finite(delta)
        new = _map(
            lambda after, before: jnp.where(accepted, after, before),
            ServerState(weights, optimizer),
            state,
        )
        outcome = DeviceOutcome(
            jnp.where(accepted, totals.loss / totals.count, jnp.nan),
            jnp.where(accepted, _global_norm(delta), 0.0),
            num_clients - totals.finite,
            ~accepted,
        )
        return new, outcome


def _finite_lanes(delta: Tree, times: Any) -> Any:
    """Whether each lane's update is finite; `False` where there is no client."""
    finite = times > 0
    for leaf in _leaves(delta):
        finite &= jnp.all(jnp.isfinite(leaf), axis=tuple(range(1, leaf.ndim)))
    return finite


def _add(
    totals: Totals, delta: Tree, finite: Any, times: Any, weight: Any, loss: Any, count: Any
) -> Totals:
    # A select, not a product: 0 * NaN would be NaN.
    delta = _where(finite, delta, _map(jnp.zeros_like, delta))
    weight, times = jnp.where(finite, weight, 0.0), jnp.where(finite, times, 0.0)
    update = _map(lambda total, d: total + jnp.tensordot(weight, d, axes=1), totals.update, delta)
    return Totals(
        update,
        totals.weight + jnp.sum(weight),
        totals.finite + jnp.sum(times),
        totals.loss + jnp.sum(jnp.where(finite, loss, 0.0) * times),
        totals.count + jnp.sum(jnp.where(finite, count, 0.0) * times),
    )


def _where(choose: Any, if_true: Tree, if_false: Tree) -> Tree:
    def pick(a: Any, b: Any) -> Any:
        return jnp.where(choose.reshape(choose.shape + (1,) * (a.ndim - 1)), a, b)

    return _map(pick, if_true, if_false)


def _global_norm(tree: Tree) -> Any:
    return jnp.sqrt(sum(jnp.sum(jnp.square(leaf)) for leaf in _leaves(tree)))


def _all_finite(tree: Tree) -> Any:
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in _leaves(tree)]))


def _leaves(tree: Tree) -> list[Any]:
    return jax.tree_util.tree_leaves(tree)
