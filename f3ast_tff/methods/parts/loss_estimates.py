"""The server's estimates of clients' losses: smoothed losses, minima, and Gamma'."""

from __future__ import annotations

import copy
from typing import ClassVar

import numpy as np

from f3ast_tff.core.federated_data import ClientExamples
from f3ast_tff.core.preprocessing import Preprocessing
from f3ast_tff.core.saved_state import SavedState
from f3ast_tff.models import SoftmaxRegression


class LossEstimates(SavedState):
    """Estimates of F_k, F*_k and Gamma' from the losses that clients report (CA-Fed, Sec. IV-B).

    F_k(t) = (1 - beta) F_k(t-1) + beta * (reported loss) for clients that report, eq. (17); for all
    other clients F_k(t) = F_k(t-1). As in the released code, the clients that report first start
    from their reports, and all others from the mean of these. F*_k is the least F_k(s) so far, or
    given.

    Attributes:
        values: F_k, `float64 [N]`.
        minima: F*_k, `float64 [N]`.
    """

    saved_as: ClassVar[str] = "losses"

    def __init__(
        self, num_clients: int, beta: float = 1.0, minima: np.ndarray | None = None
    ) -> None:
        """Starts before the first report.

        Args:
            num_clients: N.
            beta: Weight of a new report, in (0, 1]. The released code's smoothness is 1 - beta. So
                is "beta = 0" of Sec. V-A, because in eq. (17) as printed 0 would learn nothing.
            minima: F*_k, `float [N]`, if known, as in the released code, which trains each client
                alone; `None` for the paper's running minima.
        """
        self._beta = beta
        self._known_minima = minima is not None
        self._started = np.array(False)
        self.values = np.zeros(num_clients)
        self.minima = np.array(self.values if minima is None else minima, np.float64)

    def after(self, ids: np.ndarray, losses: np.ndarray) -> LossEstimates:
        """Returns the estimates with the reports of one more round.

        Args:
            ids: Clients that reported, distinct, `int [m]`.
            losses: Reported losses, `float [m]`; losses that are not finite are ignored.
        """
        ids, reported = np.asarray(ids), np.asarray(losses, np.float64)
        ids, reported = ids[np.isfinite(reported)], reported[np.isfinite(reported)]
        if len(ids) == 0:
            return self
        new = copy.copy(self)
        if self._started:
            new.values = self.values.copy()
            new.values[ids] = (1 - self._beta) * self.values[ids] + self._beta * reported
        else:
            new.values = np.full(len(self.values), reported.mean())
            new.values[ids] = reported
        if not self._known_minima:
            seen = np.minimum(self.minima, new.values) if self._started else new.values
            new.minima = seen.copy()
        new._started = np.array(True)
        return new

    @property
    def gap(self) -> np.ndarray:
        """F_k - F*_k, `float64 [N]`, 0 before the first report; a new array.

        With running minima the gap is at least 0. With given minima it may be negative, because a
        report on one batch may be below the minimum.
        """
        return self.values - self.minima if self._started else np.zeros(len(self.values))

    @property
    def heterogeneity(self) -> float:
        """Gamma', the largest gap of all clients, eq. (19), cut at 0, as Gamma' is defined."""
        return max(0.0, float(np.max(self.gap)))

    def saved_arrays(self) -> dict[str, np.ndarray]:
        """Returns the estimates and minima, and whether any client has reported."""
        return {"values": self.values, "minima": self.minima, "started": self._started}


_MAX_STEPS = 1000
_LARGEST_SLOPE = 1e-4


def trained_minima(
    model: SoftmaxRegression, preprocessing: Preprocessing, train: ClientExamples
) -> np.ndarray:
    """Returns each client's loss at the minimiser of the client's objective.

    The objective is mean cross-entropy plus ridge penalty, which is strongly convex; SciPy's
    L-BFGS minimises it. The loss is the one that clients report to CA-Fed (Algorithm 1, line 3):
    the mean cross-entropy without the penalty. So a report may fall below it.

    Args:
        model: The model, with a ridge above 0.
        preprocessing: Function from stored features to the model's input, without random draws.
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
        # Preprocessing without draws is plain arithmetic, so it works on NumPy arrays too.
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
        options={"maxiter": _MAX_STEPS, "maxfun": 2 * _MAX_STEPS, "gtol": _LARGEST_SLOPE},
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
