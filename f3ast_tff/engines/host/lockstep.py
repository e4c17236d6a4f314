"""Local training of a cohort in lockstep: clients side by side, in arrays `[clients, batch, ...]`.

Clients are in falling order of their numbers of steps. Step s is taken by the first clients, those
with more than s steps; the others are done. For ten clients this is four to five times as fast as
`softmax.train_one` client by client.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from f3ast_tff.engines.engine import EngineParts, ExampleScores
from f3ast_tff.engines.host.local_work import LocalResult, LocalStart, label_sums
from f3ast_tff.engines.host.server import clipped_rows
from f3ast_tff.engines.host.softmax import gradients
from f3ast_tff.models import SoftmaxRegression


class Batches(NamedTuple):
    """Batches of a cohort, step after step; within a step, of its clients in order.

    Attributes:
        rows: Rows of the training data, `int64 [batches, batch_size]`; a short batch repeats its
            last row.
        draws: Draws of the preprocessing, `int32 [batches, batch_size, num_draws]`.
        examples: Number of examples, `int64 [batches]`.
        first: Place of the first batch of each step, and of the end, `int64 [steps + 1]`.
    """

    rows: np.ndarray
    draws: np.ndarray
    examples: np.ndarray
    first: np.ndarray


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
        """See `LocalWork.train`."""
        steps = self.parts.work.num_batches(self.parts.data.train.sizes[ids])
        order = np.argsort(-steps, kind="stable")
        shape = (len(ids), start.model.shape[-1])
        begin = np.broadcast_to(start.model, shape)[order]
        offsets = None if start.offsets is None else start.offsets[order]
        batches = self._batches(round_number, ids[order], steps[order])
        delta, losses = self._trained(round_number, begin, offsets, batches)
        back = np.argsort(order, kind="stable")
        visits = self.parts.work.num_visits(self.parts.data.train.sizes[ids])
        means = np.where(visits > 0, losses[back] / np.maximum(visits, 1), np.nan)
        return LocalResult(delta[back], means)

    def _trained(
        self, round_number: int, begin: np.ndarray, offsets: np.ndarray | None, batches: Batches
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns the updates, `float32 [m, num_weights]`, and the sums of losses, `[m]`."""
        train, optimizer = self.parts.data.train, self.parts.client_optimizer
        rate = optimizer.rate(round_number)
        labels = train.labels[batches.rows]
        counts = (np.arange(labels.shape[1]) < batches.examples[:, None]) & (labels >= 0)
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        shares, labels = shares.astype(np.float32), np.maximum(labels, 0)
        weights, losses = begin.copy(), np.zeros(len(begin))
        before = begin.copy() if self.last_step else begin
        moments = tuple(np.full_like(begin, each) for each in optimizer.initial_moments)
        for step, (first, end) in enumerate(zip(batches.first, batches.first[1:]), start=1):
            here, there = slice(0, end - first), slice(first, end)
            active = weights[here]
            inputs = self._inputs(batches.rows[there], batches.draws[there])
            found, loss = gradients(self.model, active, inputs, labels[there], shares[there])
            losses[here] += loss * batches.examples[there]
            if offsets is not None:
                found += offsets[here]
            if self.last_step:
                before[here] = active
            subtracted, moments = optimizer.in_numpy(
                clipped_rows(found, optimizer.clip_norm),
                tuple(each[here] for each in moments),
                step=step,
                learning_rate=rate,
            )
            active -= subtracted
        return weights - before, losses

    def _inputs(self, rows: np.ndarray, draws: np.ndarray) -> np.ndarray:
        """Model inputs of batches, `float32 [m, batch, num_features]`."""
        stored = self.parts.data.train.features.take(rows.ravel(), axis=0)
        drawn = draws.reshape(rows.size, -1) if draws.size else draws.reshape(rows.size, 0)
        inputs = self.parts.preprocessing.in_numpy(stored, drawn)
        return inputs.reshape(*rows.shape, -1).astype(np.float32, copy=False)

    def _batches(self, round_number: int, ids: np.ndarray, steps: np.ndarray) -> Batches:
        """Lays out the batches of clients in falling order of their steps."""
        work, train, size = self.parts.work, self.parts.data.train, self.parts.work.batch_size
        number = np.arange(steps.max(initial=0))
        first = np.cumsum([0, *np.searchsorted(-steps, -number)])
        rows = np.zeros((first[-1], size), np.int64)
        draws = np.zeros((*rows.shape, self.parts.preprocessing.num_draws), np.int32)
        examples = np.full(len(rows), size)
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
        return Batches(rows, draws, examples, first)

    def score(self, model: np.ndarray, features: np.ndarray, labels: np.ndarray) -> ExampleScores:
        """See `LocalWork.score`."""
        classes = self.model.num_classes
        inputs = self.parts.preprocessing.in_numpy(features, None)
        weights = [model[:-classes].reshape(-1, classes), model[-classes:]]
        return label_sums(self.model.apply(weights, inputs), labels)


def in_batches(visits: np.ndarray, size: int) -> np.ndarray:
    """Cuts `[segments, length, ...]` into `[batches, size, ...]`; a short one repeats its last."""
    segments, length, *of_visit = visits.shape
    missing = -length % size
    if missing:
        visits = np.concatenate([visits, np.repeat(visits[:, -1:], missing, axis=1)], axis=1)
    return visits.reshape(segments * (length + missing) // size, size, *of_visit)
