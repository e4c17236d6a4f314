"""Softmax regression in NumPy: its gradient, and a client's training as one reads it."""

from __future__ import annotations

import numpy as np

from f3ast_tff.engines.engine import EngineParts
from f3ast_tff.engines.host.server import clipped_rows
from f3ast_tff.models import SoftmaxRegression


def gradients(
    model: SoftmaxRegression,
    weights: np.ndarray,
    inputs: np.ndarray,
    labels: np.ndarray,
    shares: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the gradients of batches' mean losses with the penalty, and the losses without.

    Args:
        model: The network.
        weights: W and b of each batch, `float32 [m, num_weights]`.
        inputs: Model inputs, `float32 [m, batch, num_features]`.
        labels: Labels, `int [m, batch]`; any where `shares` is 0.
        shares: Share of each label in its batch's mean, `float32 [m, batch]`.

    Returns:
        `float32 [m, num_weights]` and `float32 [m]`.
    """
    m, batch, features = inputs.shape
    classes, kernel = model.num_classes, features * model.num_classes
    logits = inputs @ weights[:, :kernel].reshape(m, features, classes)
    logits += weights[:, None, kernel:]
    logits -= logits.max(axis=2, keepdims=True)
    place = np.arange(m * batch) * classes + labels.ravel()
    own = logits.ravel()[place]
    error = np.exp(logits, out=logits)
    sums = error.sum(axis=2)
    losses = ((np.log(sums) - own.reshape(m, batch)) * shares).sum(axis=1)
    # d loss / d logits = (softmax - one hot of the label) * share.
    error *= (shares / sums)[:, :, None]
    error.ravel()[place] -= shares.ravel()
    found = np.empty_like(weights)
    np.matmul(inputs.transpose(0, 2, 1), error, out=found[:, :kernel].reshape(m, features, classes))
    error.sum(axis=1, out=found[:, kernel:])
    if model.ridge:
        found += np.float32(model.ridge) * weights
    return found, losses


def train_one(
    parts: EngineParts,
    model: SoftmaxRegression,
    round_number: int,
    client: int,
    start: np.ndarray,
    offset: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Trains one client, the plain form of `Lockstep.train`.

    Args:
        parts: Parts of the engine.
        model: The network.
        round_number: Round t.
        client: Client k.
        start: Model at the start, `float32 [num_weights]`.
        offset: Term added to gradients, if any.

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
            counts = labels[batch] >= 0
            shares = (counts / max(counts.sum(), 1)).astype(np.float32)
            found, loss = gradients(
                model,
                weights[None],
                x.reshape(1, len(batch), -1),
                np.maximum(labels[batch], 0)[None],
                shares[None],
            )
            gradient = found[0] if offset is None else found[0] + offset
            step += 1
            subtracted, moments = optimizer.in_numpy(
                clipped_rows(gradient, optimizer.clip_norm),
                moments,
                step=step,
                learning_rate=optimizer.rate(round_number),
            )
            before, weights = weights, weights - subtracted
            total, visits = total + float(loss[0]) * len(batch), visits + len(batch)
    return before, weights, total / visits if visits else float("nan")
