"""Softmax regression in NumPy: the gradient of a batch, and a client's training as one reads it."""

from __future__ import annotations

import numpy as np

from f3ast_tff.engines.engine import EngineParts
from f3ast_tff.engines.host.server import subtracted
from f3ast_tff.models import SoftmaxRegression
from f3ast_tff.optimizers.looking import looked
from f3ast_tff.optimizers.optimizer import looks


def with_one(inputs: np.ndarray) -> np.ndarray:
    """Returns inputs `float32 [..., F]` with a 1 at the end: b becomes the last row of W."""
    longer = np.ones((*inputs.shape[:-1], inputs.shape[-1] + 1), np.float32)
    longer[..., :-1] = inputs
    return longer


def mean_gradient(
    weights: np.ndarray, x: np.ndarray, y: np.ndarray, ridge: float = 0.0
) -> tuple[np.ndarray, float]:
    """Returns the gradient of a batch's mean loss, like `weights`, and the mean loss.

    Args:
        weights: W and b as one matrix, `float32 [F + 1, classes]`.
        x: Inputs `with_one`, `float32 [batch, F + 1]`.
        y: Labels, `int [batch]`; a negative label does not count.
        ridge: See `SoftmaxRegression`; its penalty is in the gradient, not in the loss.
    """
    logits = x @ weights
    chances = np.exp(logits - logits.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    counts = np.flatnonzero(y >= 0)
    losses = -np.log(chances[counts, y[counts]])
    # d loss / d logits = softmax - one hot of the label.
    error = np.zeros_like(chances)
    error[counts] = chances[counts]
    error[counts, y[counts]] -= 1
    number = max(len(counts), 1)
    gradient: np.ndarray = x.T @ error / np.float32(number) + np.float32(ridge) * weights
    return gradient, float(losses.sum() / number)


def train_one(
    parts: EngineParts,
    model: SoftmaxRegression,
    round_number: int,
    client: int,
    start: np.ndarray,
    offset: np.ndarray | None = None,
    pull: float | None = None,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Trains one client: what `Lockstep.train` does for a cohort.

    Args:
        parts: Parts of the engine.
        model: The network.
        round_number: Round t.
        client: Client k.
        start: Model at the start, `float32 [num_weights]`.
        offset: Term added to gradients, if any.
        pull: Factor of w - start in the gradients, if any.

    Returns:
        The model before the last step and after it, and the mean loss.
    """
    optimizer, size = parts.client_optimizer, parts.work.batch_size
    features, labels = parts.data.train.client(client)
    order = parts.work.order(round_number, client, len(labels))
    draws = parts.preprocessing.draws(round_number, client, order.shape)
    before = weights = start
    moments = tuple(np.full_like(start, each) for each in optimizer.initial_moments)
    step, total, visits = 0, 0.0, 0
    for rows, drawn in zip(order, draws):
        for first in range(0, len(rows), size):
            batch = rows[first : first + size]
            x = parts.preprocessing.in_numpy(features[batch], drawn[first : first + size])
            x, y = with_one(x.reshape(len(batch), -1)), labels[batch]

            def find(at: np.ndarray, x: np.ndarray = x, y: np.ndarray = y) -> np.ndarray:
                found, _ = mean_gradient(at.reshape(-1, model.num_classes), x, y, model.ridge)
                return found.ravel()

            matrix = weights.reshape(-1, model.num_classes)
            gradient, loss = mean_gradient(matrix, x, y, model.ridge)
            gradient = gradient.ravel()
            if looks(optimizer):
                gradient = looked(optimizer, find, weights, gradient)
            gradient = gradient if offset is None else gradient + offset
            if pull is not None:
                gradient = gradient + np.float32(pull) * (weights - start)
            step += 1
            rate = np.float32(optimizer.rate(round_number))
            taken, moments = subtracted(optimizer, gradient, moments, step=step, rate=rate)
            before, weights = weights, weights - taken
            total, visits = total + loss * len(batch), visits + len(batch)
    return before, weights, total / visits if visits else float("nan")
