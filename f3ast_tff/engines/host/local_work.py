"""The seam between the round and the clients' local training, which may be of any framework."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from f3ast_tff.engines.engine import ExampleScores


@dataclass(frozen=True)
class LocalStart:
    """Start of a cohort's clients.

    Attributes:
        model: Model of all clients, `float32 [num_weights]`, or of each, `[m, num_weights]`.
        offsets: Terms added to the clients' gradients, `float32 [m, num_weights]`, if any.
        pulls: Factors of w - model in the clients' gradients, `float32 [m]`, if any.
    """

    model: np.ndarray
    offsets: np.ndarray | None = None
    pulls: np.ndarray | None = None


@dataclass(frozen=True)
class LocalResult:
    """Updates of a cohort.

    Attributes:
        updates: D_k, `float32 [m, num_weights]`; zeros for a client without any step.
        losses: Mean loss of each client's batches, weighted by examples, `float64 [m]`; NaN
            without any step.
    """

    updates: np.ndarray
    losses: np.ndarray


class LocalWork(Protocol):
    """Local training and scoring of a composition's clients."""

    def train(self, round_number: int, ids: np.ndarray, start: LocalStart) -> LocalResult:
        """Trains distinct clients, `int64 [m]`; a pure function, with draws by seed and round."""
        ...

    def score(self, model: np.ndarray, features: np.ndarray, labels: np.ndarray) -> ExampleScores:
        """Scores stored examples under a model, `float32 [num_weights]`."""
        ...


def label_sums(logits: np.ndarray, labels: np.ndarray) -> ExampleScores:
    """Returns sums over the labels of each example; negative labels do not count.

    Args:
        logits: `float [n, ..., classes]`.
        labels: `int [n, ...]`.
    """
    counts = labels >= 0
    own = np.maximum(labels, 0)[..., None]
    shifted = logits - logits.max(axis=-1, keepdims=True)
    sums = np.log(np.exp(shifted).sum(axis=-1))
    loss = np.where(counts, sums - np.take_along_axis(shifted, own, axis=-1)[..., 0], 0.0)
    right = counts & (logits.argmax(axis=-1) == labels)
    each = (loss, right, counts)
    rest = tuple(range(1, labels.ndim))
    return ExampleScores(*(np.asarray(values, np.float64).sum(axis=rest) for values in each))


def scored_in_parts(
    work: LocalWork, model: np.ndarray, features: np.ndarray, labels: np.ndarray, at_once: int
) -> ExampleScores:
    """Returns the scores of stored examples, of at most `at_once` at a time."""
    parts = [
        work.score(model, features[first : first + at_once], labels[first : first + at_once])
        for first in range(0, len(labels), at_once)
    ]
    columns = zip(*((part.loss, part.correct, part.count) for part in parts))
    return ExampleScores(*map(np.concatenate, columns)) if parts else _no_scores()


def _no_scores() -> ExampleScores:
    return ExampleScores(*np.zeros((3, 0)))
