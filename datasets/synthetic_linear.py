"""The synthetic data that F3AST's App. C describes: rounded linear values (reading R6)."""

from __future__ import annotations

import numpy as np

from f3ast_tff.errors import ParameterError
from f3ast_tff.federated_data import ClientExamples, FederatedData
from f3ast_tff.randomness import generator

NUM_EXAMPLES = 10_000
NUM_FEATURES = 100
TRAIN_FRACTION = 0.9


def synthetic_linear(num_clients: int = 100, seed: int = 0) -> FederatedData:
    """Generates the data of App. C, "Synthetic dataset".

    10^4 samples x_i ~ N(0, I_100), one b ~ N(0, I_100), y_i = round(x_i . b), split evenly among
    the clients. All clients are thus of one distribution.

    The paper says nothing of classes. y_i is near N(0, |b|^2), |b| near 10: integers from about
    -38 to 38. Here every integer from the least to the greatest y_i is a class, the least being 0;
    nothing is clipped, so `num_classes` depends on the seed, is 75 to 90, and a class far out may
    have no example. Nor does it speak of a test set: 90% of each client's examples (rounded down)
    are for training, as in Synthetic(1, 1).

    Args:
        num_clients: Number of clients N, 1 to 5000; their sizes differ by at most 1.
        seed: Seed of the data.

    Returns:
        Features `float32 [n, 100]`, labels `int32 [n]`.

    Raises:
        ParameterError: If `num_clients` is out of range.
    """
    if num_clients > NUM_EXAMPLES // 2:
        allowed = f"must be from 1 to {NUM_EXAMPLES // 2}, for two of {NUM_EXAMPLES} examples each"
        raise ParameterError("num_clients", num_clients, allowed)
    rng = generator(seed, "synthetic linear")
    coefficients = rng.normal(size=NUM_FEATURES)
    x = rng.normal(size=(NUM_EXAMPLES, NUM_FEATURES))
    values = np.rint(x @ coefficients).astype(np.int32)
    features, labels = x.astype(np.float32), values - values.min()

    starts = np.arange(num_clients + 1, dtype=np.int64) * NUM_EXAMPLES // num_clients
    cuts = starts[:-1] + (TRAIN_FRACTION * np.diff(starts)).astype(np.int64)

    def part(firsts: np.ndarray, ends: np.ndarray) -> ClientExamples:
        rows = np.concatenate([np.arange(first, end) for first, end in zip(firsts, ends)])
        offsets = np.concatenate([[0], np.cumsum(ends - firsts)])
        return ClientExamples(features[rows], labels[rows], offsets)

    return FederatedData(
        part(starts[:-1], cuts), part(cuts, starts[1:]), int(labels.max(initial=0)) + 1
    )
