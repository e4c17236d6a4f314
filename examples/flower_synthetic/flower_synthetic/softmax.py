"""Softmax regression on Synthetic(1,1): a client's data, training and scores."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.datasets.synthetic import NUM_CLASSES, NUM_FEATURES, Synthetic

LEARNING_RATE, BATCH_SIZE = 0.01, 20


@lru_cache(maxsize=1)
def data(num_clients: int) -> FederatedData:
    """Returns the data of all clients; a real node would read only its client's data."""
    return Synthetic(num_clients=num_clients).build()


def initial_model() -> list[np.ndarray]:
    """Returns zeros: kernel `float32 [60, 10]` and bias `float32 [10]`."""
    return [np.zeros((NUM_FEATURES, NUM_CLASSES), np.float32), np.zeros(NUM_CLASSES, np.float32)]


def chances(model: list[np.ndarray], x: np.ndarray) -> np.ndarray:
    """Returns the probability of each class, `float32 [n, 10]`."""
    logits = x @ model[0] + model[1]
    chance = np.exp(logits - logits.max(axis=1, keepdims=True))
    return chance / chance.sum(axis=1, keepdims=True)


def train(
    model: list[np.ndarray], client: int, num_clients: int, round_number: int, seed: int
) -> list[np.ndarray]:
    """Returns the client's model after one epoch of SGD; (seed, round, client) fix the batches."""
    x, y = data(num_clients).train.client(client)
    kernel, bias = model
    (order,) = LocalTraining(BATCH_SIZE, seed=seed).order(round_number, client, len(y))
    for start in range(0, len(y), BATCH_SIZE):
        batch = order[start : start + BATCH_SIZE]
        slope = chances([kernel, bias], x[batch])
        slope[np.arange(len(batch)), y[batch]] -= 1
        slope /= len(batch)
        kernel = kernel - LEARNING_RATE * x[batch].T @ slope
        bias = bias - LEARNING_RATE * slope.sum(axis=0)
    return [kernel, bias]


def mean_loss(model: list[np.ndarray], x: np.ndarray, y: np.ndarray) -> float:
    """Returns the mean cross-entropy."""
    return float(-np.log(chances(model, x)[np.arange(len(y)), y] + 1e-12).mean())


def accuracy(model: list[np.ndarray], x: np.ndarray, y: np.ndarray) -> float:
    """Returns the share of examples whose class the model finds likeliest."""
    return float((chances(model, x).argmax(axis=1) == y).mean())
