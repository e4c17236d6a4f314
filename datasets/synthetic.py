"""Generated data: FedProx's Synthetic(alpha, beta), F3AST's linear text (R6), LEAF's by CA-Fed."""

from __future__ import annotations

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.federated_data import ClientExamples, FederatedData
from f3ast_tff.core.randomness import generator

NUM_FEATURES = 60
NUM_CLASSES = 10
LINEAR_EXAMPLES = 10_000
LINEAR_FEATURES = 100
TRAIN_FRACTION = 0.9
FEATURE_SPREADS = ("deviation", "variance")
CLIENT_SIZES = ("power_law", "even", "augmented")
# Of the public generator of CA-Fed's authors with --augmentation.
_AUGMENTED_TOTAL, _AUGMENTED_RATIO = 7000, 10


def synthetic(
    num_clients: int,
    alpha: float,
    beta: float,
    seed: int,
    *,
    legacy: bool = False,
    size_limit: int | None = None,
) -> FederatedData:
    """Generates Synthetic(alpha, beta).

    Client k has n_k = int(lognormal(4, 2)) + 50 examples; x ~ N(v_k, diag(j^-1.2)) with
    v_k ~ N(B_k, 1), B_k ~ N(0, beta); y = argmax(x W_k + b_k) with W_k, b_k ~ N(u_k, 1),
    u_k ~ N(0, alpha). As in the generator's code, alpha and beta are standard deviations.

    Args:
        num_clients: Number of clients N.
        alpha: How much the clients' models differ, at least 0.
        beta: How much the clients' features differ, at least 0.
        seed: Seed of the data; at most 2^32 - 1 if `legacy`.
        legacy: Whether to draw as FedProx's code, which F3AST's authors use, does after
            `numpy.random.seed(seed)`: from NumPy's legacy generator, the same draws in the same
            order, so that each client's examples are equal bit for bit. FedProx's code shuffles
            these before it splits them; here the first 90% train, as examples are independent.
        size_limit: Most examples n_k of a client, at least 2; `None` for the generator's own.

    Returns:
        Features `float32 [n, 60]`, labels `int32 [n]` in 0..9; 90% of each client's examples
        (rounded down) for training, the rest for testing.
    """
    rng = np.random.RandomState(seed) if legacy else generator(seed, "synthetic")
    sizes = rng.lognormal(4, 2, num_clients).astype(np.int64) + 50
    if size_limit is not None:
        sizes = np.minimum(sizes, size_limit)
    model_mean = rng.normal(0, alpha, num_clients)
    feature_mean = rng.normal(
        rng.normal(0, beta, num_clients)[:, None], 1, (num_clients, NUM_FEATURES)
    )
    scale = np.sqrt(np.arange(1, NUM_FEATURES + 1) ** -1.2)

    clients = []
    for k in range(num_clients):
        weights = rng.normal(model_mean[k], 1, (NUM_FEATURES, NUM_CLASSES))
        bias = rng.normal(model_mean[k], 1, NUM_CLASSES)
        x = feature_mean[k] + scale * rng.normal(size=(sizes[k], NUM_FEATURES))
        clients.append((x, np.argmax(x @ weights + bias, axis=1)))
    return _split(clients, NUM_CLASSES)


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
    if num_clients > LINEAR_EXAMPLES // 2:
        allowed = (
            f"must be from 1 to {LINEAR_EXAMPLES // 2}, for two of {LINEAR_EXAMPLES} examples each"
        )
        raise ParameterError("num_clients", num_clients, allowed)
    rng = generator(seed, "synthetic linear")
    coefficients = rng.normal(size=LINEAR_FEATURES)
    x = rng.normal(size=(LINEAR_EXAMPLES, LINEAR_FEATURES))
    values = np.rint(x @ coefficients).astype(np.int32)
    labels = values - values.min()
    ends = np.arange(1, num_clients) * LINEAR_EXAMPLES // num_clients
    clients = list(zip(np.split(x, ends), np.split(labels, ends)))
    return _split(clients, int(labels.max(initial=0)) + 1)


def leaf_synthetic(
    num_clients: int,
    alpha: float = 0.5,
    beta: float = 0.5,
    seed: int = 0,
    *,
    feature_spread: str = "deviation",
    client_sizes: str = "power_law",
) -> FederatedData:
    """Generates synthetic(alpha, beta) of App. G1 (the main text's gamma and delta).

    1) W_k (10 x 60) and b_k (10) ~ N(mu_k, 1), mu_k ~ N(0, alpha). 2) (x_k)_j is normal with mean
    (v_k)_j ~ N(B_k, 1), B_k ~ N(0, beta), and a spread of j^-1.2. 3) y = argmax(W_k x + b_k),
    softmax moving no maximum. The number of examples follows a power law.

    In 2) the text makes j^-1.2 the standard deviation; the authors' public generator makes it the
    variance (reading R22), as FedProx's does, see `synthetic`. Where the text is silent these
    generators decide: v_k is a vector, drawn element by element; alpha and beta are standard
    deviations; n_k = int(lognormal(4, 2)) + 50; the first 90% of a client's examples (rounded
    down), all of one distribution, are for training.

    Args:
        num_clients: Number of clients N, at least 1.
        alpha: How much the clients' models differ, at least 0.
        beta: How much the clients' features differ, at least 0.
        seed: Seed of the data.
        feature_spread: One of `FEATURE_SPREADS`: what j^-1.2 is of feature j within a client.
        client_sizes: One of `CLIENT_SIZES`: n_k as above; or 7000 examples in all, equally many a
            client, or ten times as many for each of the first half of the ids, which is the public
            generator's `--augmentation` where these are the more available clients.

    Returns:
        Features `float32 [n, 60]`, labels `int32 [n]` in 0..9.
    """
    rng = generator(seed, "leaf synthetic")
    sizes = _sizes(client_sizes, num_clients, rng)
    model_mean = rng.normal(0, alpha, num_clients)
    feature_mean = rng.normal(
        rng.normal(0, beta, num_clients)[:, None], 1, (num_clients, NUM_FEATURES)
    )
    deviation = np.arange(1, NUM_FEATURES + 1) ** -1.2
    if feature_spread == "variance":
        deviation = np.sqrt(deviation)

    clients = []
    for k in range(num_clients):
        weights = rng.normal(model_mean[k], 1, (NUM_CLASSES, NUM_FEATURES))
        bias = rng.normal(model_mean[k], 1, NUM_CLASSES)
        x = rng.normal(feature_mean[k], deviation, (sizes[k], NUM_FEATURES))
        clients.append((x, np.argmax(x @ weights.T + bias, axis=1)))
    return _split(clients, NUM_CLASSES)


def _sizes(kind: str, num_clients: int, rng: np.random.Generator) -> np.ndarray:
    """Returns n_k, training and test examples together, `int64 [N]`."""
    if kind == "power_law":
        return rng.lognormal(4, 2, num_clients).astype(np.int64) + 50
    first = np.arange(num_clients) < num_clients / 2
    parts = np.where(first, _AUGMENTED_RATIO if kind == "augmented" else 1, 1)
    return parts * _AUGMENTED_TOTAL // parts.sum()


def _split(clients: list[tuple[np.ndarray, np.ndarray]], num_classes: int) -> FederatedData:
    """Returns the data of clients' features and labels; the first 90% of each train."""
    cuts = [int(TRAIN_FRACTION * len(labels)) for _, labels in clients]
    train = [(x[:cut], y[:cut]) for (x, y), cut in zip(clients, cuts)]
    test = [(x[cut:], y[cut:]) for (x, y), cut in zip(clients, cuts)]
    return FederatedData(_columns(train), _columns(test), num_classes)


def _columns(clients: list[tuple[np.ndarray, np.ndarray]]) -> ClientExamples:
    offsets = np.cumsum([0] + [len(y) for _, y in clients], dtype=np.int64)
    return ClientExamples(
        np.concatenate([x for x, _ in clients]).astype(np.float32),
        np.concatenate([y for _, y in clients]).astype(np.int32),
        offsets,
    )
