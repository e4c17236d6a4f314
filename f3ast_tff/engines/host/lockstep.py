"""Local training of a cohort in lockstep: clients side by side, in arrays `[clients, ...]`.

Clients are in falling order of their numbers of steps. Step s is taken by the first clients, those
with more than s steps; the others are done. For ten equal clients this is seven times as fast as
`softmax.train_one` client by client, on Synthetic(1,1) four times.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from f3ast_tff.engines.engine import EngineParts, ExampleScores
from f3ast_tff.engines.host.local_work import LocalResult, LocalStart, example_scores
from f3ast_tff.engines.host.server import subtracted
from f3ast_tff.engines.host.softmax import with_one
from f3ast_tff.models import SoftmaxRegression
from f3ast_tff.optimizers.looking import looked
from f3ast_tff.optimizers.optimizer import looks

# Batches whose inputs are gathered at once; more than one step where few clients are left.
_AT_ONCE = 64


class Batches(NamedTuple):
    """Batches of a cohort, step after step; within a step, of its clients in order.

    Attributes:
        rows: Rows of the training data, `int64 [batches, batch_size]`; a short batch repeats its
            last row.
        draws: Draws of the preprocessing, `int32 [batches, batch_size, num_draws]`.
        examples: Number of examples, `int64 [batches]`.
        client: Place of the client, `int64 [batches]`.
        first: Place of the first batch of each step, and of the end, `int64 [steps + 1]`.
    """

    rows: np.ndarray
    draws: np.ndarray
    examples: np.ndarray
    client: np.ndarray
    first: np.ndarray


class Errors(NamedTuple):
    """Softmax of the labels' batches: for each label of a batch its share, and its logit's place.

    Attributes:
        shares: 1 / (labels of the batch that count), 0 for other labels and repeated rows,
            `float32 [batches, batch_size]`.
        place: Place of the label in a step's flat logits, `int64 [batches, batch_size]`.
        own: Logit of the label less the largest logit, `float32 [batches, batch_size]`.
        sums: Sum of exp(logit less the largest), `float32 [batches, batch_size]`.
    """

    shares: np.ndarray
    place: np.ndarray
    own: np.ndarray
    sums: np.ndarray

    @classmethod
    def of(cls, batches: Batches, labels: np.ndarray, classes: int) -> Errors:
        """Lays out the labels of all steps, `int [batches, batch_size]`."""
        size = labels.shape[1]
        counts = (np.arange(size) < batches.examples[:, None]) & (labels >= 0)
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        place = (batches.client[:, None] * classes + np.maximum(labels, 0)) * size
        empty = np.empty((2, *labels.shape), np.float32)
        return cls(shares.astype(np.float32), place + np.arange(size), *empty)

    def gradients(
        self, weights: np.ndarray, x: np.ndarray, here: slice, notes: bool = True
    ) -> np.ndarray:
        """Returns the gradients of a step's mean losses, like `weights`; notes `own` and `sums`.

        Args:
            weights: W and b of each client as one matrix, `float32 [m, F + 1, classes]`.
            x: Inputs `with_one`, `float32 [m, batch_size, F + 1]`.
            here: Batches of the step.
            notes: Whether to note them: not of a place that an optimizer looks at.
        """
        x_transposed, shares = x.transpose(0, 2, 1), self.shares[here]
        place, sums = self.place[here].ravel(), self.sums[here]
        sums = sums if notes else np.empty_like(sums)
        # Classes before examples, so that sums over classes run along contiguous examples.
        error = np.matmul(weights.transpose(0, 2, 1), x_transposed)
        error -= np.maximum.reduce(error, axis=1, keepdims=True)
        flat = error.reshape(-1)
        if notes:
            self.own[here] = flat[place].reshape(sums.shape)
        np.exp(error, out=error)
        np.add.reduce(error, axis=1, out=sums)
        # d loss / d logits = (softmax - one hot of the label) * share.
        error *= (shares / sums)[:, None]
        flat[place] -= shares.ravel()
        return np.matmul(x_transposed, error.transpose(0, 2, 1))

    def losses(self) -> np.ndarray:
        """Returns the mean loss of each batch, `float32 [batches]`."""
        counted = np.where(self.shares > 0, np.log(self.sums) - self.own, 0)
        found: np.ndarray = (counted * self.shares).sum(axis=1)
        return found


@dataclass(frozen=True)
class Lockstep:
    """See `LocalWork`: local SGD on a softmax regression.

    Attributes:
        parts: Parts of the engine.
        model: The network.
        last_step: Whether D_k is a client's last local step only, see `Memory`.
    """

    parts: EngineParts
    model: SoftmaxRegression
    last_step: bool = False

    def train(self, round_number: int, ids: np.ndarray, start: LocalStart) -> LocalResult:
        sizes = self.parts.data.train.sizes[ids]
        steps = self.parts.work.num_batches(sizes)
        order = np.argsort(-steps, kind="stable")
        models = np.broadcast_to(start.model, (len(ids), start.model.shape[-1]))
        begin = LocalStart(
            models[order],
            None if start.offsets is None else start.offsets[order],
            None if start.pulls is None else start.pulls[order],
            None if start.trains is None else start.trains[order],
        )
        batches = self._batches(round_number, ids[order], steps[order])
        delta, losses = self._trained(round_number, begin, batches)
        updates, means = np.empty_like(delta), np.full(len(ids), np.nan)
        updates[order] = delta
        visits = self.parts.work.num_visits(sizes[order])
        np.divide(losses, visits, out=losses, where=visits > 0)
        means[order] = np.where(visits > 0, losses, np.nan)
        return LocalResult(updates, means, models[:, self.parts.buffer_places])

    def _trained(
        self, round_number: int, start: LocalStart, batches: Batches
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns the updates, `float32 [m, num_weights]`, and the sums of losses, `[m]`."""
        begin, offsets, pulls, trains = start.model, start.offsets, start.pulls, start.trains
        optimizer, classes = self.parts.client_optimizer, self.model.num_classes
        buffers = self.parts.buffer_places
        rate = np.float32(optimizer.rate(round_number))
        errors = Errors.of(batches, self.parts.data.train.labels[batches.rows], classes)
        weights, before = begin.copy(), begin.copy() if self.last_step else begin
        moments = tuple(np.full_like(begin, each) for each in optimizer.initial_moments)
        ends, loaded, inputs = batches.first.tolist(), slice(0, 0), np.zeros(0)
        for step, (first, end) in enumerate(zip(ends, ends[1:]), start=1):
            here, active = slice(first, end), weights[: end - first]
            if end > loaded.stop:
                loaded = slice(first, max(end, first + _AT_ONCE))
                inputs = self._inputs(batches.rows[loaded], batches.draws[loaded])
            x = inputs[first - loaded.start : end - loaded.start]
            gradients = self._gradients(active, x, errors, here)
            if looks(optimizer):
                find = partial(self._gradients, x=x, errors=errors, here=here, notes=False)
                gradients = looked(optimizer, find, _read_only(active), _read_only(gradients))
            if offsets is not None:
                gradients += offsets[: len(active)]
            if pulls is not None:
                gradients += pulls[: len(active), None] * (active - begin[: len(active)])
            if trains is not None:
                gradients *= trains[: len(active)]
            if len(buffers):
                gradients[:, buffers] = 0
            if self.last_step:
                before[: len(active)] = active
            moments = tuple(each[: len(active)] for each in moments)
            taken, moments = subtracted(optimizer, gradients, moments, step=step, rate=rate)
            if len(buffers):
                taken[:, buffers] = 0
            active -= taken
        losses = np.bincount(batches.client, errors.losses() * batches.examples, len(begin))
        # Without batches NumPy returns integers.
        return weights - before, losses.astype(np.float64)

    def _gradients(
        self, weights: np.ndarray, x: np.ndarray, errors: Errors, here: slice, notes: bool = True
    ) -> np.ndarray:
        """Gradients of a step's losses, with the model's penalty; 0 at buffers; `[m, weights]`."""
        matrices = weights.reshape(len(weights), -1, self.model.num_classes)
        gradients = errors.gradients(matrices, x, here, notes).reshape(weights.shape)
        if self.model.ridge:
            gradients += np.float32(self.model.ridge) * weights
        if len(buffers := self.parts.buffer_places):
            gradients[:, buffers] = 0
        return gradients

    def _inputs(self, rows: np.ndarray, draws: np.ndarray) -> np.ndarray:
        """Model inputs of batches `with_one`, `float32 [batches, batch_size, F + 1]`."""
        stored = self.parts.data.train.features.take(rows.ravel(), axis=0)
        inputs = self.parts.preprocessing.in_numpy(stored, draws.reshape(rows.size, draws.shape[2]))
        return with_one(inputs.reshape(*rows.shape, -1))

    def _batches(self, round_number: int, ids: np.ndarray, steps: np.ndarray) -> Batches:
        """Lays out the batches of clients in falling order of their steps."""
        work, train, size = self.parts.work, self.parts.data.train, self.parts.work.batch_size
        number = np.arange(steps.max(initial=0))
        # Number of clients with more than s steps, for each s.
        active = np.searchsorted(-steps, -number)
        first = np.cumsum([0, *active])
        rows = np.zeros((first[-1], size), np.int64)
        draws = np.zeros((*rows.shape, self.parts.preprocessing.num_draws), np.int32)
        examples = np.full(len(rows), size)
        client = np.arange(len(rows)) - np.repeat(first[:-1], active)
        orders = work.orders(round_number, ids.tolist(), train.sizes[ids].tolist())
        for place, (k, order) in enumerate(zip(ids.tolist(), orders)):
            own = first[: steps[place]] + place
            rows[own] = train.offsets[k] + in_batches(order, size)
            if order.size and order.shape[1] % size:
                per_segment = -(-order.shape[1] // size)
                examples[own[per_segment - 1 :: per_segment]] = order.shape[1] % size
            if draws.size:
                drawn = self.parts.preprocessing.draws(round_number, k, order.shape)
                draws[own] = in_batches(drawn, size)
        return Batches(rows, draws, examples, client, first)

    def score(self, model: np.ndarray, features: np.ndarray, labels: np.ndarray) -> ExampleScores:
        classes = self.model.num_classes
        inputs = self.parts.preprocessing.in_numpy(features, None)
        weights = [model[:-classes].reshape(-1, classes), model[-classes:]]
        outputs = self.model.apply(weights, inputs)
        return example_scores(self.parts.scoring, outputs, labels)


def _read_only(rows: np.ndarray) -> np.ndarray:
    view = rows.view()
    view.flags.writeable = False
    return view


def in_batches(visits: np.ndarray, size: int) -> np.ndarray:
    """Cuts `[segments, length, ...]` into `[batches, size, ...]`; a short one repeats its last."""
    segments, length, *of_visit = visits.shape
    missing = -length % size
    if missing:
        visits = np.concatenate([visits, np.repeat(visits[:, -1:], missing, axis=1)], axis=1)
    return visits.reshape(segments * (length + missing) // size, size, *of_visit)
