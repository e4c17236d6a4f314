"""F*_k by training each client alone, as CA-Fed's authors do in their released code."""

from __future__ import annotations

import numpy as np

from f3ast_tff.federated_data import ClientExamples
from f3ast_tff.models import SoftmaxRegression
from f3ast_tff.preprocessing import Preprocessing

_MOST_STEPS = 1000
_LARGEST_SLOPE = 1e-4


def trained_minima(
    model: SoftmaxRegression, preprocessing: Preprocessing, train: ClientExamples
) -> np.ndarray:
    """Returns each client's loss at the model that is best for it alone.

    That model minimises the client's objective, mean cross-entropy plus ridge penalty, strongly
    convex: SciPy's L-BFGS finds it. Its loss is that which clients report to CA-Fed (Algorithm 1,
    line 3), the mean cross-entropy without the penalty. So a report may fall below it.

    Args:
        model: The model; its ridge is above 0.
        preprocessing: From features to what the model reads; nothing random.
        train: Training examples by client.

    Returns:
        F*_k, `float64 [N]`, at least 0; 0 for a client without examples.

    Raises:
        ValueError: If there is no ridge, or a client's training does not converge.
    """
    if not model.ridge > 0:
        raise ValueError(f"ridge is {model.ridge}: must be above 0, or there may be no minimum")
    minima = np.zeros(train.num_clients)
    for k in np.flatnonzero(train.sizes):
        features, labels = train.client(int(k))
        # What draws nothing is plain arithmetic, NumPy's as well as JAX's.
        x = np.asarray(preprocessing.in_jax(features, None), np.float64).reshape(len(labels), -1)
        try:
            minima[k] = _least_loss(x, labels, model)
        except ValueError as error:
            raise ValueError(f"client {k}: {error}") from error
    return minima


def _least_loss(x: np.ndarray, labels: np.ndarray, model: SoftmaxRegression) -> float:
    from scipy.optimize import minimize  # type: ignore[import-untyped]

    x = np.column_stack([x, np.ones(len(x))])
    shape = (x.shape[1], model.num_classes)
    rows = np.arange(len(labels))

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        loss, slope = _cross_entropy(x, labels, rows, flat.reshape(shape))
        penalty = model.ridge / 2 * float(flat @ flat)
        return loss + penalty, slope.ravel() + model.ridge * flat

    found = minimize(
        objective,
        np.zeros(shape[0] * shape[1]),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _MOST_STEPS, "maxfun": 2 * _MOST_STEPS, "gtol": _LARGEST_SLOPE},
    )
    if not found.success:
        raise ValueError(f"training it alone does not converge: {found.message}")
    return _cross_entropy(x, labels, rows, found.x.reshape(shape))[0]


def _cross_entropy(
    x: np.ndarray, labels: np.ndarray, rows: np.ndarray, weights: np.ndarray
) -> tuple[float, np.ndarray]:
    logits = x @ weights
    logits -= logits.max(axis=1, keepdims=True)
    chances = np.exp(logits)
    total = chances.sum(axis=1)
    loss = float(np.mean(np.log(total) - logits[rows, labels]))
    chances /= total[:, None]
    chances[rows, labels] -= 1
    return loss, x.T @ chances / len(rows)
