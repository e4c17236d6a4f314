"""F3AST (Ribero, Vikalo, de Veciana) from start to end in NumPy: one file, no framework.

python f3ast_in_numpy.py

Synthetic(1,1), N = 100 clients, home devices, K = 10, one local epoch. Every random number comes
from a named stream, a function of (seed, stream, round, client). The package uses the same
streams, so its engines train the same model; the tests compare the two.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

NUM_CLIENTS, CLIENTS_PER_ROUND = 100, 10
NUM_FEATURES, NUM_CLASSES = 60, 10
CLIENT_RATE, SERVER_RATE, BATCH_SIZE = 0.01, 1.0, 20
RATE_BETA = 0.001

Model = tuple[np.ndarray, np.ndarray]  # W float32 [60, 10] and b float32 [10].
Examples = tuple[np.ndarray, np.ndarray]  # Features float32 [n, 60] and labels int [n].


def stream(seed: int, name: str, *indices: int) -> np.random.Generator:
    """Returns the generator of a named stream, the same for the same arguments."""
    key = (zlib.crc32(name.encode()), *indices)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def synthetic(seed: int) -> tuple[list[Examples], list[Examples]]:
    """Draws Synthetic(1,1): training and test examples per client (App. C; FedProx's generator).

    y = argmax(x W_k + b_k), with a model and a feature mean per client. Sizes are lognormal.
    """
    rng = stream(seed, "synthetic")
    sizes = rng.lognormal(4, 2, NUM_CLIENTS).astype(int) + 50
    model_mean = rng.normal(0, 1, NUM_CLIENTS)
    center = rng.normal(0, 1, NUM_CLIENTS)[:, None]
    feature_mean = rng.normal(center, 1, (NUM_CLIENTS, NUM_FEATURES))
    spread = np.sqrt(np.arange(1, NUM_FEATURES + 1) ** -1.2)
    train, test = [], []
    for k, size in enumerate(sizes):
        weights = rng.normal(model_mean[k], 1, (NUM_FEATURES, NUM_CLASSES))
        bias = rng.normal(model_mean[k], 1, NUM_CLASSES)
        x = feature_mean[k] + spread * rng.normal(size=(size, NUM_FEATURES))
        y = np.argmax(x @ weights + bias, axis=1)
        cut = int(0.9 * size)
        train.append((x[:cut].astype(np.float32), y[:cut]))
        test.append((x[cut:].astype(np.float32), y[cut:]))
    return train, test


def home_devices(seed: int) -> np.ndarray:
    """Returns q_k = t_k / max t, t_k ~ lognormal(0, variance 0.5): the chance to be available."""
    t = stream(seed, "home_devices").lognormal(0.0, np.sqrt(0.5), NUM_CLIENTS)
    return t / t.max()


def select(
    available: np.ndarray, p: np.ndarray, r: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Picks the K available clients of largest -dH/dr_k = (p_k / r_k)^2 (line 4, eq. 4).

    Ties are broken at random.
    """
    candidates = np.flatnonzero(available)
    tie_break = rng.permutation(len(candidates))
    best_first = np.lexsort((tie_break, -(p / r)[candidates]))
    return candidates[best_first[:CLIENTS_PER_ROUND]]


def gradient(model: Model, x: np.ndarray, y: np.ndarray) -> Model:
    """Returns the gradient of the mean cross-entropy of softmax regression."""
    logits = x @ model[0] + model[1]
    chance = np.exp(logits - logits.max(axis=1, keepdims=True))
    chance /= chance.sum(axis=1, keepdims=True)
    chance[np.arange(len(y)), y] -= 1
    chance /= len(y)
    return x.T @ chance, chance.sum(axis=0)


def local_sgd(model: Model, x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Model:
    """Returns the client's update: its model after one epoch, minus the model it started from."""
    weights, bias = model
    order = rng.permutation(len(y))
    for start in range(0, len(y), BATCH_SIZE):
        batch = order[start : start + BATCH_SIZE]
        step = gradient((weights, bias), x[batch], y[batch])
        weights, bias = weights - CLIENT_RATE * step[0], bias - CLIENT_RATE * step[1]
    return weights - model[0], bias - model[1]


def accuracy(model: Model, clients: list[Examples]) -> float:
    """Returns the share of all examples that the model labels correctly."""
    correct = [np.argmax(x @ model[0] + model[1], axis=1) == y for x, y in clients]
    return float(np.concatenate(correct).mean())


@dataclass(frozen=True)
class Round:
    """State after round t: the model, the cohort, its weights p_k / r_k, and the rates r(t)."""

    number: int
    model: Model
    cohort: np.ndarray
    weights: np.ndarray
    rates: np.ndarray


def f3ast(train: list[Examples], rounds: int, seed: int) -> Iterator[Round]:
    """Runs Algorithm 1 and yields every round."""
    sizes = np.array([len(y) for _, y in train])
    p = sizes / sizes.sum()
    q = home_devices(seed)
    # r(t) = scale * unscaled. All rates share the decay, so clients that tie in p / r stay tied.
    # Rounding each rate by itself would break ties.
    scale, unscaled = 1.0, p.copy()
    kernel = np.zeros((NUM_FEATURES, NUM_CLASSES), np.float32)
    model = (kernel, np.zeros(NUM_CLASSES, np.float32))
    for t in range(1, rounds + 1):
        available = stream(seed, "availability", t).random(NUM_CLIENTS) < q
        cohort = select(available, p, r=unscaled, rng=stream(seed, "selection", t))
        scale *= 1 - RATE_BETA  # Line 5: r <- (1 - beta) r + beta 1_S.
        unscaled[cohort] += RATE_BETA / scale
        r = scale * unscaled
        weights = p[cohort] / r[cohort]
        kernel_sum, bias_sum = np.zeros_like(model[0]), np.zeros_like(model[1])
        for k, weight in zip(cohort, weights.astype(np.float32)):
            x, y = train[k]
            update = local_sgd(model, x, y, stream(seed, "batches", t, k))
            # Line 9: a sum with weights p_k / r_k, never a normalised mean.
            kernel_sum += weight * update[0]
            bias_sum += weight * update[1]
        model = (model[0] + SERVER_RATE * kernel_sum, model[1] + SERVER_RATE * bias_sum)
        yield Round(number=t, model=model, cohort=cohort, weights=weights, rates=r)


def main(rounds: int = 300, seed: int = 0) -> None:
    """Trains, and prints the test accuracy every 50 rounds."""
    train, test = synthetic(seed)
    for state in f3ast(train, rounds, seed):
        if state.number % 50 == 0:
            print(f"round {state.number}: test accuracy {accuracy(state.model, test):.4f}")


if __name__ == "__main__":
    main()
