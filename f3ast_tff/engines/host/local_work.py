"""The seam between the round and the clients' local training, which may be of any framework."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from f3ast_tff.engines.engine import ExampleScores

if TYPE_CHECKING:
    from f3ast_tff.models.scores import Scoring


@dataclass(frozen=True)
class LocalStart:
    """Start of a cohort's clients.

    Attributes:
        model: Model of all clients, `float32 [num_weights]`, or of each, `[m, num_weights]`.
        offsets: Terms added to the clients' gradients, `float32 [m, num_weights]`, if any.
        pulls: Factors of w - model in the clients' gradients, `float32 [m]`, if any.
        trains: Factors of the gradients by coordinate, `float32 [m, num_weights]`, if any.
    """

    model: np.ndarray
    offsets: np.ndarray | None = None
    pulls: np.ndarray | None = None
    trains: np.ndarray | None = None


@dataclass(frozen=True)
class LocalResult:
    """Updates of a cohort.

    Attributes:
        updates: D_k, `float32 [m, num_weights]`; zeros for a client without any step, and at the
            buffers.
        losses: Mean loss of each client's batches, weighted by examples, `float64 [m]`; NaN
            without any step.
        buffers: The buffers after training, `float32 [m, num_buffers]`; the start's without any
            step.
    """

    updates: np.ndarray
    losses: np.ndarray
    buffers: np.ndarray

    @property
    def finite(self) -> np.ndarray:
        """Whether a client's update and buffers are finite, `bool [m]`."""
        return np.isfinite(self.updates).all(axis=1) & np.isfinite(self.buffers).all(axis=1)


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
    each = {"loss": loss, "correct": right, "count": counts}
    rest = tuple(range(1, labels.ndim))
    sums_of = {name: np.asarray(part, np.float64).sum(axis=rest) for name, part in each.items()}
    return ExampleScores.of(sums_of)


def example_scores(
    scoring: Scoring | None, outputs: np.ndarray, labels: np.ndarray
) -> ExampleScores:
    """Returns `label_sums`, or the sums of a model's own loss and scores.

    Raises:
        ComponentError: If a function of the model returns another shape.
    """
    if scoring is None:
        return label_sums(outputs, labels)
    found = scoring.sums(
        outputs,
        labels,
        xp=np,
        dtype=np.float64,
        cross_entropy=lambda logits, y: [*label_sums(logits, y).arrays.values()],
        detached=lambda outputs: outputs,
    )
    correct = () if isinstance(found.correct, tuple) else (found.correct,)
    arrays = (found.loss, *correct, found.count, *found.more)
    return ExampleScores.of(dict(zip(scoring.names, arrays)))


def scored_in_parts(
    work: LocalWork, model: np.ndarray, features: np.ndarray, labels: np.ndarray, at_once: int
) -> ExampleScores:
    """Returns the scores of stored examples, of at most `at_once` at a time."""
    parts = [
        work.score(model, features[first : first + at_once], labels[first : first + at_once])
        for first in range(0, len(labels), at_once)
    ]
    if not parts:
        return _no_scores()
    each = [part.arrays for part in parts]
    return ExampleScores.of({name: np.concatenate([a[name] for a in each]) for name in each[0]})


def _no_scores() -> ExampleScores:
    return ExampleScores(np.zeros(0), np.zeros(0), np.zeros(0))
