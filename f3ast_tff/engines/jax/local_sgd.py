"""Local training of clients as a program for XLA, one by one or a wave side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from f3ast_tff.core.preprocessing import Preprocessing
from f3ast_tff.engines.jax.optimizers import JaxOptimizer, Tree
from f3ast_tff.models import Model
from f3ast_tff.optimizers.optimizer import looks

_map = jax.tree_util.tree_map


class Trained(NamedTuple):
    """State of a client in training; with a leading axis, of the clients of a wave.

    Attributes:
        weights: Model of the client.
        optimizer: State of the client's optimizer.
        loss: Sum over batches of mean loss times number of examples.
        count: Number of examples in the batches.
        start_loss: As `loss`, under the model at the client's start; 0 unless asked for.
        previous: Model before the client's last step; `()` unless asked for.
    """

    weights: Tree
    optimizer: Tree
    loss: Any
    count: Any
    start_loss: Any = ()
    previous: Tree = ()


class LocalStart(NamedTuple):
    """Start of the clients of a wave.

    Attributes:
        model: Model at the start.
        offset: Term added to gradients, like a model; `()` for none.
        own_model: Whether `model` holds a model per lane, with a leading axis.
        own_offset: Whether `offset` holds an offset per lane, with a leading axis.
        pull: Factor of w - model in the gradients, `[lanes]`; `()` for none.
        trains: Factor of each coordinate's gradient, like a model per lane; `()` for none.
    """

    model: Tree
    offset: Tree = ()
    own_model: bool = False
    own_offset: bool = False
    pull: Any = ()
    trains: Tree = ()


class Batches(NamedTuple):
    """Sources of the batches of a wave; see `PackedWork`.

    Attributes:
        rows: Examples of each step, `[length, lanes, batch_size]`.
        draws: Random draws of the preprocessing.
        features: Training features of all clients, `[n, ...]`.
        labels: Training labels of all clients, `[n]`.
    """

    rows: Any
    draws: Any
    features: Any
    labels: Any


class LabelSums(NamedTuple):
    """Sums over the labels of each example that count, each `float32 [n]`.

    Attributes:
        loss: Cross-entropy.
        correct: Number of labels predicted right.
        count: Number of labels.
    """

    loss: Any
    correct: Any
    count: Any


def label_sums(logits: Any, labels: Any) -> LabelSums:
    """Returns the sums, given logits `[n, ..., classes]` and labels `[n, ...]`.

    A negative label does not count. Short floating-point numbers, as bfloat16, become `float32`.
    """
    rest = tuple(range(1, labels.ndim))
    labels = labels.astype(jnp.int32)
    logits = logits.astype(jnp.promote_types(logits.dtype, jnp.float32))
    # A mask, because the gradient of indexing is a scatter, slow on CPUs.
    classes = jnp.arange(logits.shape[-1])
    of_label = labels[..., None] == classes
    loss = -jnp.sum(jnp.where(of_label, jax.nn.log_softmax(logits), 0.0), axis=-1)
    counts = (labels >= 0).astype(jnp.float32)
    own = jnp.sum(jnp.where(of_label, logits, 0.0), axis=-1)
    right = counts * _is_first_of_largest(logits, own, labels, classes)
    return LabelSums(jnp.sum(loss, rest), jnp.sum(right, rest), jnp.sum(counts, rest))


def _is_first_of_largest(logits: Any, own: Any, labels: Any, classes: Any) -> Any:
    """Whether `jnp.argmax` over the last axis gives the label, by one plain reduction.

    The label's logit, `own`, is compared with those of other classes alone: XLA may compute a logit
    twice, in the last digit differently.
    """
    own, place = own[..., None], labels[..., None]
    # The first NaN is the largest, as for `jnp.argmax`.
    before = jnp.where(jnp.isnan(own), jnp.isnan(logits), ~(logits < own))
    after = ~(jnp.isnan(own) | (logits <= own))
    return ~jnp.any(((classes < place) & before) | ((classes > place) & after), axis=-1)


@dataclass(frozen=True)
class CrossEntropy:
    """Loss and accuracy of classes.

    Attributes:
        names: Names of the sums' arrays, in order.
    """

    names: ClassVar[tuple[str, ...]] = ("loss", "correct", "count")

    def __call__(self, logits: Any, labels: Any) -> LabelSums:
        """Returns `label_sums`."""
        return label_sums(logits, labels)


@dataclass(frozen=True)
class LocalSgd:
    """Local training.

    Attributes:
        model: The network.
        preprocessing: Function from features to model input.
        optimizer: Optimizer of the local steps.
        equal_steps: See `Waves`; used if steps have a bound.
        keeps_previous: Whether to return also each client's model before its last step.
        start_loss: Whether to compute also the loss under the model at the client's start.
        sums: Loss of outputs and labels, and their scores: `CrossEntropy`, or a model's own.
        buffers: Places of the leaves that are buffers, which no step changes.
        held: Places of the leaves that are the server's, which no client's step changes.
        jit_options: Arguments of `jax.jit` that a program with this training needs.
        kernels: Number of kernels of a client's steps, in words.
    """

    jit_options: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    kernels: ClassVar[str] = "many"

    model: Model
    preprocessing: Preprocessing
    optimizer: JaxOptimizer
    equal_steps: bool = False
    keeps_previous: bool = False
    start_loss: bool = False
    sums: Any = CrossEntropy()
    buffers: tuple[int, ...] = ()
    held: tuple[int, ...] = ()

    def wave(
        self,
        start: LocalStart,
        batches: Batches,
        *,
        rate: Any,
        first: Any,
        steps: Any,
        bound: int | None = None,
    ) -> Trained:
        """Trains the clients of a wave.

        Args:
            start: Models and offsets of the clients.
            batches: Batches of all waves.
            rate: The learning rate.
            first: First step of the wave, a scalar.
            steps: Steps of each lane, `[lanes]`.
            bound: Number of steps of the wave, if known when the program is compiled; a lane
                applies only its first `steps`.
        """

        def train(
            model: Tree, offset: Tree, pull: Any, trains: Tree, steps: Any, rows: Any, draws: Any
        ) -> Trained:
            return self._client(
                LocalStart(model, offset, pull=pull, trains=trains),
                batches._replace(rows=rows, draws=draws),
                rate=rate,
                first=first,
                steps=steps,
                bound=bound,
            )

        model, offset, pull, trains = start.model, start.offset, start.pull, start.trains
        if batches.rows.shape[1] > 1:
            own = 0 if start.own_model else None, 0 if start.own_offset else None
            return jax.vmap(train, in_axes=(*own, 0, 0, 0, 1, 1))(
                model, offset, pull, trains, steps, batches.rows, batches.draws
            )
        # No `vmap` over one lane, which would turn all products into batched products.
        model = _only_lane(model) if start.own_model else model
        offset = _only_lane(offset) if start.own_offset else offset
        pull, trains = _only_lane(pull), _only_lane(trains)

        def only_client() -> Trained:
            rows, draws = batches.rows[:, 0], batches.draws[:, 0]
            return train(model, offset, pull, trains, steps[0], rows, draws)

        return _map(lambda leaf: leaf[None], self._alone(only_client))

    def _alone(self, client: Callable[[], Trained]) -> Trained:
        """Returns a client, trained by itself; see `OneKernelSgd`."""
        return client()

    def _client(
        self,
        start: LocalStart,
        batches: Batches,
        *,
        rate: Any,
        first: Any,
        steps: Any,
        bound: int | None,
    ) -> Trained:
        def body(t: Any, local: Trained) -> Trained:
            batch = batches._replace(rows=batches.rows[first + t], draws=batches.draws[first + t])
            after = self._step(local, start, batch, rate)
            if bound is None or self.equal_steps:
                return after
            # XLA fuses the select with the optimizer's step.
            return _map(lambda new, old: jnp.where(t < steps, new, old), after, local)

        model = start.model
        begin = Trained(
            weights=model,
            optimizer=self.optimizer.init(model),
            loss=jnp.float32(0),
            count=jnp.float32(0),
            start_loss=jnp.float32(0) if self.start_loss else (),
            previous=model if self.keeps_previous else (),
        )
        return lax.fori_loop(0, steps if bound is None else bound, body, begin)

    def _step(self, local: Trained, start: LocalStart, batch: Batches, rate: Any) -> Trained:
        here = batch.rows >= 0
        present = jnp.maximum(batch.rows, -1 - batch.rows)
        x = self.preprocessing.in_jax(batch.features[present], batch.draws)
        y = batch.labels[present]

        def objective(weights: Tree) -> tuple[Any, Any]:
            sums = self.sums(self.model.apply(weights, x), y)
            loss = jnp.sum(jnp.where(here, sums.loss, 0.0))
            loss /= jnp.maximum(jnp.sum(jnp.where(here, sums.count, 0.0)), 1.0)
            return loss + self.model.penalty(weights), loss

        find = jax.grad(objective, has_aux=True)
        gradients, loss = find(local.weights)
        if looks(optimizer := self.optimizer.optimizer):
            from f3ast_tff.engines.jax.looking import looked_leaves

            there = lambda weights: find(weights)[0]  # noqa: E731
            gradients = looked_leaves(optimizer, there, local.weights, gradients, self.buffers)
        if start.offset != ():
            gradients = _map(jnp.add, gradients, start.offset)
        if not isinstance(start.pull, tuple):
            gradients = _map(
                lambda g, w, begin: g + start.pull * (w - begin),
                gradients,
                local.weights,
                start.model,
            )
        if start.trains != ():
            gradients = _map(jnp.multiply, gradients, start.trains)
        if stays := (*self.buffers, *self.held):
            gradients = with_leaves(gradients, _map(jnp.zeros_like, gradients), stays)
        state, weights = self.optimizer.update(local.optimizer, local.weights, gradients, rate)
        weights = with_leaves(weights, local.weights, stays)
        num_examples = jnp.sum(here.astype(jnp.float32))
        start_loss = local.start_loss
        if self.start_loss:
            start_loss += objective(start.model)[1] * num_examples
        return Trained(
            weights=weights,
            optimizer=state,
            loss=local.loss + loss * num_examples,
            count=local.count + num_examples,
            start_loss=start_loss,
            previous=local.weights if self.keeps_previous else (),
        )


def with_leaves(weights: Tree, others: Tree, places: tuple[int, ...]) -> Tree:
    """Returns the leaves of a model, at these places those of another."""
    if not places:
        return weights
    return [other if i in places else w for i, (w, other) in enumerate(zip(weights, others))]


def _only_lane(tree: Tree) -> Tree:
    return _map(lambda leaf: leaf[0], tree)
