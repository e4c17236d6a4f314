"""Local training of clients as a program for XLA: one client, or those of a wave side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from f3ast_tff.engines.jax.cross_entropy import label_sums
from f3ast_tff.engines.jax.optimizers import JaxOptimizer, Tree
from f3ast_tff.models import Model
from f3ast_tff.preprocessing import Preprocessing

_map = jax.tree_util.tree_map


class Trained(NamedTuple):
    """A client as it trains, or, with a leading axis, those of a wave.

    Attributes:
        weights: Its model.
        optimizer: State of its optimizer.
        loss: Sum over its batches of mean loss times examples.
        count: Examples of its batches.
    """

    weights: Tree
    optimizer: Tree
    loss: Any
    count: Any


class Batches(NamedTuple):
    """Where the batches of a wave come from; see `PackedWork`.

    Attributes:
        rows: Examples of each step, `[length, lanes, batch_size]`.
        draws: What preprocessing draws for them.
        features: Training features of all clients, `[n, ...]`.
        labels: Their labels, `[n]`.
    """

    rows: Any
    draws: Any
    features: Any
    labels: Any


@dataclass(frozen=True)
class LocalSgd:
    """Local training.

    Attributes:
        model: The network.
        preprocessing: From features to what it reads.
        optimizer: Of the local steps.
        equal_steps: See `Waves`; read where steps have a bound.
    """

    model: Model
    preprocessing: Preprocessing
    optimizer: JaxOptimizer
    equal_steps: bool = False

    def wave(
        self,
        start: Tree,
        offset: Tree,
        by_lane: tuple[bool, bool],
        rate: Any,
        first: Any,
        steps: Any,
        batches: Batches,
        bound: int | None = None,
    ) -> Trained:
        """Trains the clients of a wave.

        Args:
            start: The model that they start from.
            offset: What is added to their gradients, like a model; `()` for nothing.
            by_lane: Whether start and offset are one for each lane, with a leading axis.
            rate: The learning rate.
            first: First step of the wave, a scalar.
            steps: Steps of each lane, `[lanes]`.
            batches: Of all waves.
            bound: Steps that the wave takes if that is known when the program is compiled; of
                these a lane keeps its own.
        """

        def train(start: Tree, offset: Tree, steps: Any, rows: Any, draws: Any) -> Trained:
            own = Batches(rows, draws, batches.features, batches.labels)
            return self._client(start, offset, rate, first, steps, own, bound)

        if batches.rows.shape[1] > 1:
            axes = (*(0 if own else None for own in by_lane), 0, 1, 1)
            return jax.vmap(train, in_axes=axes)(start, offset, steps, batches.rows, batches.draws)
        # Not a `vmap` over one: that would make batched products of all products.
        start, offset = (
            _map(lambda leaf: leaf[0], tree) if own else tree
            for tree, own in zip((start, offset), by_lane)
        )
        trained = train(start, offset, steps[0], batches.rows[:, 0], batches.draws[:, 0])
        return _map(lambda leaf: leaf[None], trained)

    def _client(
        self,
        start: Tree,
        offset: Tree,
        rate: Any,
        first: Any,
        steps: Any,
        batches: Batches,
        bound: int | None,
    ) -> Trained:
        def body(t: Any, local: Trained) -> Trained:
            rows, draws = batches.rows[first + t], batches.draws[first + t]
            batch = Batches(rows, draws, batches.features, batches.labels)
            before = (local.weights, local.optimizer)
            weights, optimizer, loss, count = self._step(*before, offset, rate, batch)
            after = Trained(weights, optimizer, local.loss + loss, local.count + count)
            if bound is None or self.equal_steps:
                return after
            # XLA fuses the select with the optimizer's step.
            return _map(lambda new, old: jnp.where(t < steps, new, old), after, local)

        begin = Trained(start, self.optimizer.init(start), jnp.float32(0), jnp.float32(0))
        return lax.fori_loop(0, steps if bound is None else bound, body, begin)

    def _step(
        self, weights: Tree, optimizer: Tree, offset: Tree, rate: Any, batch: Batches
    ) -> tuple[Tree, Tree, Any, Any]:
        here = batch.rows >= 0
        present = jnp.maximum(batch.rows, 0)
        x = self.preprocessing.in_jax(batch.features[present], batch.draws)
        y = batch.labels[present]

        def objective(weights: Tree) -> tuple[Any, Any]:
            sums = label_sums(self.model.apply(weights, x), y)
            loss = jnp.sum(jnp.where(here, sums.loss, 0.0))
            loss /= jnp.maximum(jnp.sum(jnp.where(here, sums.count, 0.0)), 1.0)
            return loss + self.model.penalty(weights), loss

        gradients, loss = jax.grad(objective, has_aux=True)(weights)
        if offset != ():
            gradients = _map(jnp.add, gradients, offset)
        optimizer, weights = self.optimizer.update(optimizer, weights, gradients, rate)
        num_examples = jnp.sum(here.astype(jnp.float32))
        return weights, optimizer, loss * num_examples, num_examples
