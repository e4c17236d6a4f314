"""A whole round as one pure function for XLA: local SGD, aggregate, server optimizer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from f3ast_tff.engines.jax_optimizers import JaxOptimizer, State, Tree, global_norm

_map = jax.tree_util.tree_map


class ServerState(NamedTuple):
    """The model and the state of its server optimizer."""

    weights: Tree
    optimizer: State


class DeviceOutcome(NamedTuple):
    """`RoundOutcome`, still on the device, each a scalar."""

    train_loss: Any
    update_norm: Any
    num_dropped: Any
    rejected: Any


class _Lanes(NamedTuple):
    """What the loop over steps carries; leaves of the first four have a leading lane axis."""

    weights: Tree
    optimizer: State
    loss: Any
    count: Any
    totals: _Totals


class _Totals(NamedTuple):
    """Sums over the finite updates so far."""

    update: Tree
    weight: Any
    finite: Any
    loss: Any
    count: Any


def cross_entropy(logits: Any, labels: Any) -> Any:
    """Returns the loss of each example, `float32 [n]`, from logits `[n, classes]`."""
    # A mask, not an index: the gradient of indexing is a scatter, slow on CPUs.
    of_label = labels[:, None] == jnp.arange(logits.shape[1])
    return -jnp.sum(jnp.where(of_label, jax.nn.log_softmax(logits), 0.0), axis=1)


@dataclass(frozen=True)
class FusedRound:
    """The round of one composition.

    Attributes:
        apply: (weights, features) to logits.
        client: Optimizer of the local steps.
        server: Optimizer of the step along the aggregate.
        normalise: Whether the aggregate is the weighted mean, not the sum.
    """

    apply: Callable[[Tree, Any], Any]
    client: JaxOptimizer
    server: JaxOptimizer
    normalise: bool

    def __call__(
        self, state: ServerState, features: Any, labels: Any, packed: Any, num_clients: Any
    ) -> tuple[ServerState, DeviceOutcome]:
        """Executes a round.

        Args:
            state: Model and server optimizer.
            features: Training features of all clients, `[n, ...]`.
            labels: Their labels, `[n]`.
            packed: The fields of `packing.PackedWork`, in its order.
            num_clients: Clients that train, scalar.

        Returns:
            The state after the round and what happened in it. Where no update is finite, or the
            aggregate is not, the state is as before.
        """
        rows, first, last_weight, last, num_steps, num_idle, idle_weight = packed
        start_weights = _per_lane(state.weights, rows.shape[1])
        start_optimizer = _per_lane(self.client.init(state.weights), rows.shape[1])

        def body(t: Any, lanes: _Lanes) -> _Lanes:
            weights = _where(first[t], start_weights, lanes.weights)
            optimizer = _where(first[t], start_optimizer, lanes.optimizer)
            loss = jnp.where(first[t], 0.0, lanes.loss)
            count = jnp.where(first[t], 0.0, lanes.count)
            step = jax.vmap(self._step, in_axes=(0, 0, 0, None, None))
            weights, optimizer, step_loss, step_count = step(
                weights, optimizer, rows[t], features, labels
            )
            loss, count = loss + step_loss, count + step_count

            def add(totals: _Totals) -> _Totals:
                delta = _map(jnp.subtract, weights, start_weights)
                return _add(totals, delta, last[t], last_weight[t], loss, count)

            totals = lax.cond(jnp.any(last[t]), add, lambda totals: totals, lanes.totals)
            return _Lanes(weights, optimizer, loss, count, totals)

        zero = jnp.zeros(rows.shape[1])
        idle = (jnp.float32(idle_weight), jnp.float32(num_idle))
        nothing = (jnp.float32(0), jnp.float32(0))
        totals = _Totals(_map(jnp.zeros_like, state.weights), *idle, *nothing)
        lanes = _Lanes(start_weights, start_optimizer, zero, zero, totals)
        totals = lax.fori_loop(0, num_steps, body, lanes).totals
        return self._finish(state, totals, num_clients)

    def _step(
        self, weights: Tree, optimizer: State, rows: Any, features: Any, labels: Any
    ) -> tuple[Tree, State, Any, Any]:
        here = rows >= 0
        x, y = features[jnp.maximum(rows, 0)], labels[jnp.maximum(rows, 0)]
        count = jnp.sum(here.astype(jnp.float32))

        def mean_loss(weights: Tree) -> Any:
            losses = jnp.where(here, cross_entropy(self.apply(weights, x), y), 0.0)
            return jnp.sum(losses) / jnp.maximum(count, 1.0)

        loss, gradients = jax.value_and_grad(mean_loss)(weights)
        optimizer, weights = self.client.update(optimizer, weights, gradients)
        return weights, optimizer, loss * count, count

    def _finish(
        self, state: ServerState, totals: _Totals, num_clients: Any
    ) -> tuple[ServerState, DeviceOutcome]:
        delta = totals.update
        if self.normalise:
            delta = _map(lambda d: d / totals.weight, delta)
        negative = _map(jnp.negative, delta)
        optimizer, weights = self.server.update(state.optimizer, state.weights, negative)
        accepted = (totals.finite > 0) & _all_finite(delta)
        new = _map(
            lambda after, before: jnp.where(accepted, after, before),
            ServerState(weights, optimizer),
            state,
        )
        outcome = DeviceOutcome(
            jnp.where(accepted, totals.loss / totals.count, jnp.nan),
            jnp.where(accepted, global_norm(delta), 0.0),
            num_clients - totals.finite,
            ~accepted,
        )
        return new, outcome


def _add(totals: _Totals, delta: Tree, last: Any, weight: Any, loss: Any, count: Any) -> _Totals:
    finite = last
    for leaf in jax.tree_util.tree_leaves(delta):
        finite &= jnp.all(jnp.isfinite(leaf), axis=tuple(range(1, leaf.ndim)))
    # A select, not a product: 0 * NaN would be NaN.
    delta = _where(finite, delta, _map(jnp.zeros_like, delta))
    weight, finite_number = jnp.where(finite, weight, 0.0), jnp.sum(finite.astype(jnp.float32))
    update = _map(lambda total, d: total + jnp.tensordot(weight, d, axes=1), totals.update, delta)
    return _Totals(
        update,
        totals.weight + jnp.sum(weight),
        totals.finite + finite_number,
        totals.loss + jnp.sum(jnp.where(finite, loss, 0.0)),
        totals.count + jnp.sum(jnp.where(finite, count, 0.0)),
    )


def _per_lane(tree: Tree, num_lanes: int) -> Tree:
    return _map(lambda leaf: jnp.broadcast_to(leaf, (num_lanes, *leaf.shape)), tree)


def _where(choose: Any, if_true: Tree, if_false: Tree) -> Tree:
    def pick(a: Any, b: Any) -> Any:
        return jnp.where(choose.reshape(choose.shape + (1,) * (a.ndim - 1)), a, b)

    return _map(pick, if_true, if_false)


def _all_finite(tree: Tree) -> Any:
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in _leaves(tree)]))


def _leaves(tree: Tree) -> list[Any]:
    return jax.tree_util.tree_leaves(tree)
