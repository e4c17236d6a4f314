"""LEAF's synthetic data as CA-Fed describes it (Rodio et al., App. G1)."""

from __future__ import annotations

import numpy as np

from f3ast_tff.errors import ParameterError
from f3ast_tff.federated_data import ClientExamples, FederatedData
from f3ast_tff.randomness import generator

NUM_FEATURES = 60
NUM_CLASSES = 10
TRAIN_FRACTION = 0.9


def leaf_synthetic(
    num_clients: int, alpha: float = 0.5, beta: float = 0.5, seed: int = 0
) -> FederatedData:
    """Generates synthetic(alpha, beta) of App. G1 (the main text's gamma and delta).

    1) W_k (10 x 60) and b_k (10) ~ N(mu_k, 1), mu_k ~ N(0, alpha). 2) (x_k)_j is normal with
    standard deviation j^-1.2 and mean (v_k)_j ~ N(B_k, 1), B_k ~ N(0, beta). 3) y = argmax(W_k x +
    b_k), softmax moving no maximum. The number of examples follows a power law.

    In 2) the text makes j^-1.2 the standard deviation; FedProx's generator, see `synthetic`, makes
    it the variance, and nothing else is different between the two. Where the text is silent that
    generator, which it names as its origin, decides: v_k is a vector, drawn element by element;
    alpha and beta are standard deviations; n_k = int(lognormal(4, 2)) + 50; the first 90% of a
    client's examples (rounded down), all of one distribution, are for training.

    Args:
        num_clients: Number of clients N, at least 1.
        alpha: How much the clients' models differ, at least 0.
        beta: How much the clients' features differ, at least 0.
        seed: Seed of the data.

    Returns:
        Features `float32 [n, 60]`, labels `int32 [n]` in 0..9.

    Raises:
        ParameterError: If an argument is out of range.
    """
    if num_clients < 1:
        raise ParameterError("num_clients", num_clients, "must be at least 1")
    for name, value in (("synthetic_alpha", alpha), ("synthetic_beta", beta)):
        if not 0 <= value < np.inf:
            raise ParameterError(name, value, "must be a number of at least 0")
    rng = generator(seed, "leaf synthetic")
    sizes = rng.lognormal(4, 2, num_clients).astype(np.int64) + 50
    model_mean = rng.normal(0, alpha, num_clients)
    feature_mean = rng.normal(
        rng.normal(0, beta, num_clients)[:, None], 1, (num_clients, NUM_FEATURES)
    )
    deviation = np.arange(1, NUM_FEATURES + 1) ** -1.2

    features, labels = [], []
    for k in range(num_clients):
        weights = rng.normal(model_mean[k], 1, (NUM_CLASSES, NUM_FEATURES))
        bias = rng.normal(model_mean[k], 1, NUM_CLASSES)
        x = rng.normal(feature_mean[k], deviation, (sizes[k], NUM_FEATURES))
        features.append(x.astype(np.float32))
        labels.append(np.argmax(x @ weights.T + bias, axis=1).astype(np.int32))
    cuts = (TRAIN_FRACTION * sizes).astype(np.int64)

    def part(rows: list[slice]) -> ClientExamples:
        x = [features[k][r] for k, r in enumerate(rows)]
        y = [labels[k][r] for k, r in enumerate(rows)]
        return ClientExamples(
            np.concatenate(x), np.concatenate(y), np.cumsum([0, *map(len, y)], dtype=np.int64)
        )

    train, test = [slice(0, cut) for cut in cuts], [slice(cut, None) for cut in cuts]
    return FederatedData(part(train), part(test), NUM_CLASSES)
