"""Tasks of a trial: Synthetic(1, 1), and a small network on MNIST-1D, for the clients of a log."""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from f3ast_tff.core.federated_data import ClientExamples, FederatedData
from f3ast_tff.core.randomness import generator
from f3ast_tff.datasets.synthetic import synthetic_of_sizes
from f3ast_tff.models.training_function import Examples, Trained, TrainingFunction, Work

SYNTHETIC, MNIST1D = "Synthetic", "MNIST-1D"
# Examples of a client: at mean share, least, most. Larger clients make draws of the data differ.
_EXAMPLES, _FEWEST, _MOST = 150, 20, 1000
# Examples that MNIST-1D is made of; every draw gives them to clients anew.
_POOL = 10_000
# Concentration of a client's labels on MNIST-1D.
_CONCENTRATION = 0.3
_HIDDEN = 64
# One pair for all methods of the network: none of them is tuned.
NETWORK_RATES = {"client_lr": 0.1, "server_lr": 1.0}


def has_mnist1d() -> bool:
    """Whether the package `mnist1d` is installed."""
    return importlib.util.find_spec("mnist1d") is not None


def sizes_of(p: np.ndarray) -> np.ndarray:
    """Returns examples of each client in proportion to p, within 20 to 1000, `int64 [N]`."""
    wanted = np.rint(p / p.mean() * _EXAMPLES).astype(np.int64)
    return np.clip(wanted, _FEWEST, _MOST)


def synthetic_data(sizes: np.ndarray, draw: int) -> FederatedData:
    """Draws Synthetic(1, 1) for clients of these sizes, training plus test, `int64 [N]`."""
    return synthetic_of_sizes(sizes, 1.0, 1.0, generator(draw, "synthetic of a trial"))


def mnist1d_data(sizes: np.ndarray, draw: int) -> FederatedData:
    """Gives examples of MNIST-1D (Greydanus and Kobak, 2024) to clients of these sizes.

    A client's labels are drawn from a Dirichlet distribution; 80% of its examples train.

    Args:
        sizes: Examples of each client, training plus test, `int64 [N]`, each at least 2.
        draw: Seed of the draws.

    Returns:
        Features `float32 [n, 40]`, labels `int32 [n]` in 0..9.
    """
    for_training, for_testing = _pools()
    rng = generator(draw, "MNIST-1D of a trial")
    mixtures = rng.dirichlet(np.full(10, _CONCENTRATION), len(sizes))
    tests = np.maximum(sizes // 5, 1)
    return FederatedData(
        train=_drawn(for_training, mixtures, sizes - tests, rng),
        test=_drawn(for_testing, mixtures, tests, rng),
        num_classes=10,
    )


def _drawn(
    pool: tuple[np.ndarray, np.ndarray],
    mixtures: np.ndarray,
    counts: np.ndarray,
    rng: np.random.Generator,
) -> ClientExamples:
    features, labels = pool
    by_label = [np.flatnonzero(labels == label) for label in range(10)]
    rows = [
        rng.choice(by_label[label])
        for mixture, count in zip(mixtures, counts)
        for label in rng.choice(10, count, p=mixture)
    ]
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return ClientExamples(features[rows], labels[rows], offsets)


@cache
def _pools() -> Sequence[tuple[np.ndarray, np.ndarray]]:
    """Features and labels of MNIST-1D: for training, and for testing."""
    from mnist1d.data import get_dataset_args, make_dataset

    settings = get_dataset_args()
    settings.num_samples = _POOL
    # The package seeds the global generators.
    before = random.getstate(), np.random.get_state()
    try:
        made = make_dataset(settings)
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])
    return [
        (made[f"x{part}"].astype(np.float32), made[f"y{part}"].astype(np.int32))
        for part in ("", "_test")
    ]


def _initial(seed: int) -> list[np.ndarray]:
    rng = generator(seed, "network of a trial")
    shapes = ((40, _HIDDEN), (_HIDDEN, 10))
    kernels = [rng.normal(0, np.sqrt(2 / shape[0]), shape).astype(np.float32) for shape in shapes]
    return [array for kernel in kernels for array in (kernel, np.zeros_like(kernel[0]))]


def _hidden_and_logits(
    weights: Sequence[np.ndarray], features: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    kernel, bias, last, last_bias = weights
    hidden = np.maximum(features @ kernel + bias, 0)
    return hidden, hidden @ last + last_bias


def _train(
    weights: Sequence[np.ndarray],
    examples: Examples,
    work: Work,
    offset: Sequence[np.ndarray] | None = None,
    pull: float = 0.0,
) -> Trained:
    """Plain SGD on the cross-entropy; each step is along g + offset + pull (w - weights)."""
    now = [array.copy() for array in weights]
    loss, seen = 0.0, 0
    for batch in work.batches:
        features, labels = examples.features[batch], examples.labels[batch]
        hidden, logits = _hidden_and_logits(now, features)
        logits -= logits.max(axis=1, keepdims=True)
        chances = np.exp(logits)
        totals = chances.sum(axis=1)
        rows = np.arange(len(batch))
        loss += float((np.log(totals) - logits[rows, labels]).sum())
        seen += len(batch)
        chances /= totals[:, None]
        chances[rows, labels] -= 1
        chances /= np.float32(len(batch))
        back = (chances @ now[2].T) * (hidden > 0)
        gradient = [features.T @ back, back.sum(axis=0), hidden.T @ chances, chances.sum(axis=0)]
        for place, slope in enumerate(gradient):
            if offset is not None:
                slope = slope + offset[place]
            if pull:
                slope = slope + np.float32(pull) * (now[place] - weights[place])
            now[place] -= np.float32(work.learning_rate) * slope
    return Trained(now, loss / max(seen, 1))


def _predict(weights: Sequence[np.ndarray], features: np.ndarray) -> np.ndarray:
    return _hidden_and_logits(weights, features)[1]


def network() -> TrainingFunction:
    """Returns a network of one hidden layer of 64 ReLUs on 40 inputs, trained in NumPy."""
    return TrainingFunction(_initial, _train, _predict, convex=False)


def data_and_model(task: str, sizes: np.ndarray, draw: int) -> dict[str, Any]:
    """Returns the settings `task` and `model` of a run.

    Args:
        task: `SYNTHETIC` or `MNIST1D`.
        sizes: Examples of each client, training plus test, `int64 [N]`.
        draw: Seed of the data.
    """
    if task == MNIST1D:
        return {"task": mnist1d_data(sizes, draw), "model": network(), **NETWORK_RATES}
    return {"task": synthetic_data(sizes, draw), "model": "softmax_regression"}
