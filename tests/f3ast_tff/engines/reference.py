"""Federated softmax regression by hand in NumPy, float64: the reference for each engine."""

from __future__ import annotations

import numpy as np

from f3ast_tff.core.federated_data import ClientExamples
from f3ast_tff.core.local_training import LocalTraining

Weights = list[np.ndarray]


def log_probabilities(weights: Weights, x: np.ndarray) -> np.ndarray:
    logits = x.astype(np.float64) @ weights[0] + weights[1]
    shifted = logits - logits.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def losses(weights: Weights, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return -log_probabilities(weights, x)[np.arange(len(y)), y]


def gradient(weights: Weights, x: np.ndarray, y: np.ndarray) -> Weights:
    error = np.exp(log_probabilities(weights, x))
    error[np.arange(len(y)), y] -= 1
    return [x.astype(np.float64).T @ error / len(y), error.mean(axis=0)]


def local_update(
    weights: Weights, x: np.ndarray, y: np.ndarray, order: np.ndarray, batch_size: int, lr: float
) -> Weights:
    """Returns v_k: the local model after SGD over the batches, minus the start."""
    local = [weight.astype(np.float64) for weight in weights]
    for segment in order:
        for start in range(0, len(segment), batch_size):
            rows = segment[start : start + batch_size]
            steps = gradient(local, x[rows], y[rows])
            local = [weight - lr * step for weight, step in zip(local, steps)]
    return [after - before for after, before in zip(local, weights)]


def delta(
    weights: Weights,
    train: ClientExamples,
    work: LocalTraining,
    round_number: int,
    ids: np.ndarray,
    client_weights: np.ndarray,
    lr: float,
) -> Weights:
    """Returns Delta = sum_k w_k v_k (Algorithm 1, line 9)."""
    total = [np.zeros(weight.shape) for weight in weights]
    for k, client_weight in zip(ids, client_weights):
        x, y = train.client(int(k))
        order = work.order(round_number, int(k), len(y))
        update = local_update(weights, x, y, order, work.batch_size, lr)
        total = [so_far + client_weight * part for so_far, part in zip(total, update)]
    return total


def norm(weights: Weights) -> float:
    return float(np.sqrt(sum(np.sum(weight**2) for weight in weights)))
