"""F3AST with scikit-learn: SGDClassifier on its digits data, 30 clients of two digits each.

pip install scikit-learn; python sklearn_digits.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss

from f3ast_tff import FederatedData, Trained, TrainingFunction, simulate

CLASSES = np.arange(10)


def train(weights: Any, examples: Any, work: Any) -> Trained:
    """Passes over a client's examples with `partial_fit`, from the server's weights."""
    seed = int(work.generator.integers(2**31))
    model = SGDClassifier(
        loss="log_loss", learning_rate="constant", eta0=work.learning_rate, random_state=seed
    )
    model.classes_ = CLASSES
    model.coef_, model.intercept_ = (np.array(weight) for weight in weights)
    for _ in range(work.epochs):
        model.partial_fit(examples.features, examples.labels, classes=CLASSES)
    loss = log_loss(examples.labels, model.predict_proba(examples.features), labels=CLASSES)
    return Trained([model.coef_, model.intercept_], loss)


def predict(weights: Any, features: np.ndarray) -> np.ndarray:
    """Returns the scores of the ten digits, `[n, 10]`."""
    scores: np.ndarray = features @ weights[0].T + weights[1]
    return scores


def main(rounds: int = 60) -> float:
    """Prints and returns the test accuracy of F3AST."""
    images, digits = load_digits(return_X_y=True)
    # Client k holds parts of the digits k mod 10 and k + 1 mod 10.
    clients = (digits - np.arange(len(digits)) % 2) % 10 + 10 * (np.arange(len(digits)) % 3)
    data = FederatedData.from_arrays(images / 16, digits, clients, test=0.2)
    model = TrainingFunction(lambda seed: [np.zeros((10, 64)), np.zeros(10)], train, predict)
    result = simulate(data, "f3ast", model=model, rounds=rounds, constraint=5, client_lr=0.05)
    print(result)
    return float(result.metrics["test_sample_accuracy"].iloc[-1])


if __name__ == "__main__":
    main()
